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
// driver exposes them below hw_counters of each port.
//
// Source: amzn-drivers, kernel/linux/efa, efa_verbs.c (hw_stats names); EC2 user
// guide, "Monitor an Elastic Fabric Adapter".
const Script = `cd /sys/class/infiniband 2>/dev/null || exit 0
for port in */ports/*; do
  for name in tx_bytes rx_bytes rdma_write_bytes rdma_write_recv_bytes rdma_read_bytes rdma_read_resp_bytes; do
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
		deltas := difference(start, after[pod])
		if deltas == nil {
			return nil
		}
		for _, port := range deltas {
			tx, rx := port.bytes()
			sum.Devices++
			sum.TxBytes += tx
			sum.RxBytes += rx
		}
	}
	return &sum
}

// movement is how far one port's counters went, by name.
type movement map[string]float64

// bytes is what a port sent and received. Whether tx_bytes and rx_bytes count
// RDMA operations too is not documented, so the larger of both ways to count is
// taken, never their sum: what is held against a lower bound must not be counted
// twice.
func (m movement) bytes() (tx, rx float64) {
	return max(m["tx_bytes"], m["rdma_write_bytes"]+m["rdma_read_resp_bytes"]),
		max(m["rx_bytes"], m["rdma_write_recv_bytes"]+m["rdma_read_bytes"])
}

// difference is each port's movement; nil when the readings do not fit together.
func difference(start, end Reading) map[string]movement {
	if len(end) != len(start) {
		return nil
	}
	ports := map[string]movement{}
	for key, value := range start {
		now, ok := end[key]
		if !ok || now < value { // a counter that went back is not this one's
			return nil
		}
		port, name, _ := strings.Cut(key, " ")
		if ports[port] == nil {
			ports[port] = movement{}
		}
		ports[port][name] = now - value
	}
	return ports
}
