package preflight

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
)

// CounterScript prints "DEVICE COUNTER VALUE" for each readable EFA hardware counter of a pod. The
// EFA driver exposes them below hw_counters of each port. The provider runs it, not the training
// script.
//
// Source: amzn-drivers, kernel/linux/efa, efa_verbs.c (hw_stats names); EC2 user
// guide, "Monitor an Elastic Fabric Adapter".
const CounterScript = `cd /sys/class/infiniband 2>/dev/null || exit 0
for port in */ports/*; do
  for name in tx_bytes rx_bytes rdma_write_bytes rdma_write_recv_bytes rdma_read_bytes rdma_read_resp_bytes; do
    file="$port/hw_counters/$name"
    if [ -r "$file" ]; then echo "$port $name $(cat "$file")"; fi
  done
done`

// Reading holds the counters of one pod at one moment, by "PORT COUNTER".
type Reading map[string]float64

// Readings holds the readings of pods, by pod. Its JSON is compressed if it is long: the counters
// of a hundred nodes with many devices would not fit in a ConfigMap, whose limit is 1 MiB.
type Readings map[string]Reading

// compressFrom is the minimum size in bytes at which Readings are compressed.
const compressFrom = 16 << 10

// MarshalJSON returns an object, or gzip of it as a base64 text.
func (r Readings) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(map[string]Reading(r))
	if err != nil || len(text) < compressFrom {
		return text, err
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err = writer.Write(text)
	if err := errors.Join(err, writer.Close()); err != nil {
		return nil, fmt.Errorf("compressing the counters: %w", err)
	}
	return json.Marshal(packed.Bytes())
}

// UnmarshalJSON accepts both forms.
func (r *Readings) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		var packed []byte
		if err := json.Unmarshal(text, &packed); err != nil {
			return fmt.Errorf("decoding the counters: %w", err)
		}
		reader, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return fmt.Errorf("decompressing the counters: %w", err)
		}
		if text, err = io.ReadAll(reader); err != nil {
			return fmt.Errorf("decompressing the counters: %w", err)
		}
	}
	return json.Unmarshal(text, (*map[string]Reading)(r))
}

// ParallelPods is how many pods run a command at once: hundreds of pods must be read within minutes,
// and each command is a stream of the API server.
const ParallelPods = 16

var errNoCounters = errors.New("the pod shows no EFA counters")

// ReadCounters reads the counters of every pod. It returns nil if any pod has none, because a
// partial sum is meaningless.
func ReadCounters(ctx context.Context, exec Exec, pods []string) Readings {
	readings := make([]Reading, len(pods))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(ParallelPods)
	for i, pod := range pods {
		group.Go(func() error {
			output, err := exec(ctx, pod, []string{"sh", "-c", CounterScript})
			if err == nil {
				readings[i], err = ParseCounters(output)
			}
			if err == nil && len(readings[i]) == 0 {
				err = errNoCounters
			}
			return err
		})
	}
	if group.Wait() != nil || len(pods) == 0 {
		return nil
	}
	all := make(Readings, len(pods))
	for i, pod := range pods {
		all[pod] = readings[i]
	}
	return all
}

// ParseCounters parses CounterScript's output.
func ParseCounters(output string) (Reading, error) {
	reading := Reading{}
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf(
				"reading EFA counters: line %q does not have three words",
				strings.TrimSpace(line),
			)
		}
		value, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, fmt.Errorf("reading EFA counters: %w", err)
		}
		reading[fields[0]+" "+fields[1]] = value
	}
	return reading, nil
}

// Increase returns the increase of the counters; nil when either reading is missing, or when the
// devices differ, as after a pod's replacement.
func Increase(before, after Readings) *evidence.Counters {
	if before == nil || len(before) != len(after) {
		return nil
	}
	var sum evidence.Counters
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

// increase is the increase of one port's counters, by name.
type increase map[string]float64

// bytes returns how much a port sent and received. Whether tx_bytes and rx_bytes include RDMA
// operations is not documented, so the larger value is used, not the sum: nothing may be counted
// twice.
func (m increase) bytes() (tx, rx float64) {
	return max(m["tx_bytes"], m["rdma_write_bytes"]+m["rdma_read_resp_bytes"]),
		max(m["rx_bytes"], m["rdma_write_recv_bytes"]+m["rdma_read_bytes"])
}

// difference returns the increase of each port; nil when the readings are not of the same counters.
func difference(start, end Reading) map[string]increase {
	if len(end) != len(start) {
		return nil
	}
	ports := map[string]increase{}
	for key, value := range start {
		now, ok := end[key]
		if !ok || now < value { // the counter was reset
			return nil
		}
		port, name, _ := strings.Cut(key, " ")
		if ports[port] == nil {
			ports[port] = increase{}
		}
		ports[port][name] = now - value
	}
	return ports
}
