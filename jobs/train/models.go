package train

// Parameters is the number of parameters of one of the training code's models;
// false for a name that the code does not know. A test holds it to model.py.
func Parameters(model string) (int64, bool) {
	switch model {
	case "Qwen/Qwen2.5-0.5B":
		return 494_032_768, true
	case "Qwen/Qwen2.5-1.5B":
		return 1_543_714_304, true
	case "tiny":
		return 90_688, true
	default:
		return 0, false
	}
}
