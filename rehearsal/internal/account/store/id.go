package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// NewID returns an id in EC2's form: a prefix and 17 hexadecimal digits.
func NewID(prefix string) string { return prefix + "-" + RandomHex(17) }

// RandomHex returns n hexadecimal digits.
func RandomHex(n int) string {
	raw := make([]byte, (n+1)/2)
	// crypto/rand.Read never returns an error; it ends the process instead.
	_, _ = rand.Read(raw)
	return hex.EncodeToString(raw)[:n]
}

// NewUUID returns a random UUID.
func NewUUID() string {
	digits := RandomHex(32)
	return strings.Join(
		[]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}

// StableHex returns n hexadecimal digits derived from text.
func StableHex(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:n]
}

// Named returns a name, or one that begins with a prefix.
func Named(name, prefix string) string {
	if name == "" && prefix != "" {
		return prefix + RandomHex(17)
	}
	return name
}

// Dashed returns an address or a block in the form that AWS uses in names.
func Dashed(address string) string {
	return strings.NewReplacer(".", "-", "/", "-").Replace(address)
}
