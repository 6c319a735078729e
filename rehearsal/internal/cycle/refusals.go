package cycle

import (
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/diagnosis"
)

// refusalFinding makes a finding of an error that the engine printed. An explanation of the program's has code, cause and
// command in it; a provider's own words have not, and the settings' and quotas' refusals at most the command.
func refusalFinding(message string) Finding {
	found := Finding{Code: "update-refused", Severity: "error", Text: message}
	if parsed, ok := diagnosis.Parse(message); ok {
		found.Code, found.Cause, found.Next = parsed.Code, parsed.Cause, parsed.Next
		return found
	}
	for line := range strings.Lines(message) {
		if before, next, ok := strings.Cut(line, "; next: "); ok && found.Next == "" {
			found.Cause, found.Next = strings.TrimSpace(before), strings.TrimSpace(next)
		}
	}
	return found
}

// rehearsedMark starts what a rehearsal prints of an error, and onAWS the line that says what bills: the program does not know
// that it is rehearsed, so whoever rehearses it has to say so.
const (
	rehearsedMark = "[rehearsed] "
	billing       = "\nbilling:  "
	onAWS         = "nothing in a rehearsal; on AWS: "
)

// labelled marks a message as rehearsed. The gate's own messages carry both marks already.
func labelled(message string) string {
	if strings.Contains(message, rehearsedMark) {
		return message
	}
	return rehearsedMark + strings.Replace(message, billing, billing+onAWS, 1)
}
