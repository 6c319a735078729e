package train

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// equivalent holds the digests of training code that computes the same and leaves the same evidence,
// oldest first. A proof by one of them is a proof by all. Whoever changes the code adds the new
// digest when that is still true (comments, messages, a setting whose default changes nothing), and
// otherwise replaces the list by the new digest alone. Code that is not listed is a revision of its
// own, so that a forgotten entry costs a run and never a wrong proof.
func equivalent() []string {
	return []string{
		"028e5c8fd0cb1b3caca250f67356b1f6",
		"a7ff87d7cda11902664c0965f25c0936",
	}
}

// Revision identifies what the zipped training code computes.
func Revision(zip []byte) string {
	sum := sha256.Sum256(zip)
	digest := hex.EncodeToString(sum[:16])
	if slices.Contains(equivalent(), digest) {
		return equivalent()[0]
	}
	return digest
}
