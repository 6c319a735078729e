package rayapi

import "time"

// TimeoutFor is timeoutFor, for tests.
func TimeoutFor(size int) time.Duration { return timeoutFor(size) }
