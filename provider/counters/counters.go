// Package counters reads the EFA hardware counters of worker pods. The provider
// reads them itself: the script that is being judged must not.
package counters

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// Script prints "DEVICE COUNTER VALUE" for each readable counter. The EFA
// driver exposes them below hw_counters of each port; send and receive count in
// tx_bytes and rx_bytes, RDMA writes (which g6 lacks) in counters of their own.
const Script = `cd /sys/class/infiniband 2>/dev/null || exit 0
for port in */ports/*; do
  for name in tx_bytes rx_bytes rdma_write_bytes rdma_write_recv_bytes; do
    file="$port/hw_counters/$name"
    if [ -r "$file" ]; then echo "$port $name $(cat "$file")"; fi
  done
done`

// Reading holds one moment's values of one pod, by "PORT COUNTER".
type Reading map[string]float64

// Exec runs a command in a pod.
type Exec func(ctx context.Context, pod string, command []string) (string, error)

// Read reads the counters of every pod. nil means that at least one pod shows
// none: a sum over some of them would say nothing.
func Read(ctx context.Context, exec Exec, pods []string) map[string]Reading {
	all := map[string]Reading{}
	for _, pod := range pods {
		output, err := exec(ctx, pod, []string{"sh", "-c", Script})
		if err != nil {
			return nil
		}
		reading, err := Parse(output)
		if err != nil || len(reading) == 0 {
			return nil
		}
		all[pod] = reading
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// Parse reads the script's output.
func Parse(output string) (Reading, error) {
	reading := Reading{}
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("reading EFA counters: line %q has not three words", strings.TrimSpace(line))
		}
		value, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, fmt.Errorf("reading EFA counters: %w", err)
		}
		reading[fields[0]+" "+fields[1]] = value
	}
	return reading, nil
}

// Moved sums how far all counters went; nil when either reading is missing, or
// when the devices differ, as after a pod's replacement.
func Moved(before, after map[string]Reading) *jobs.Counters {
	if before == nil || len(before) != len(after) {
		return nil
	}
	var sum jobs.Counters
	for pod, start := range before {
		end, ok := after[pod]
		if !ok || len(end) != len(start) {
			return nil
		}
		for key, value := range start {
			now, ok := end[key]
			if !ok || now < value { // a counter that went back is not this one's
				return nil
			}
			switch _, name, _ := strings.Cut(key, " "); name {
			case "tx_bytes":
				sum.Devices++
				sum.TxBytes += now - value
			case "rdma_write_bytes":
				sum.TxBytes += now - value
			default:
				sum.RxBytes += now - value
			}
		}
	}
	return &sum
}
