package record

import "bytes"

// folds lets channel lines that differ in the channel's number only count as
// further lines of one event. Most of a big job's set-up is such lines: both
// ends of each connection print one per channel.
//
// A fold must not change what the model sees, so it ends when the same process
// prints anything else that means something: owner, provider and connection
// depend on the order of a process's records. Processes are distinguished by pid
// alone, which can only end a fold too early.
type folds struct {
	last []foldWays // by origin
	// epoch counts the other events of the pids that share a place.
	epoch [64]uint32
}

// foldWays are the latest channel lines of one origin: rings and trees open
// their connections in turns.
type foldWays struct {
	ways [4]fold
	next uint8 // the way to replace
}

// fold is a channel line that others may repeat.
type fold struct {
	tail  []byte // from behind the channel's number to the newline
	event int32  // its index in the block
	epoch uint32
}

func (f *folds) reset() { f.last = f.last[:0] }

// stop ends the folds of a process.
func (f *folds) stop(pid int32) { f.epoch[pid&63]++ }

// again counts the record at msg as one more line of an earlier event of its
// origin, if it is one.
func (s *Scanner) again(from int32, msg int) bool {
	if int(from) >= len(s.folds.last) {
		return false
	}
	at, ok := channelTail(s.d, msg)
	if !ok {
		return false
	}
	epoch := s.folds.epoch[s.b.Origins[from].PID&63]
	ways := &s.folds.last[from].ways
	for i := range ways {
		f := &ways[i]
		if len(f.tail) == 0 || f.epoch != epoch || !bytes.HasPrefix(s.d[at:], f.tail) {
			continue
		}
		e := &s.b.Events[f.event]
		e.More++
		e.Last = int(s.hits[s.at].line)
		return true
	}
	return false
}

// remember makes the channel line from msg to the newline at end, which the last
// event represents, one that later lines of its origin are compared with.
func (s *Scanner) remember(from int32, msg, end int) {
	at, ok := channelTail(s.d, msg)
	alone := s.at+1 == len(s.hits) || int(s.hits[s.at+1].pos) > end
	if !ok || !alone || at >= end || end >= len(s.d) || s.d[end] != '\n' {
		return
	}
	for int(from) >= len(s.folds.last) {
		s.folds.last = append(s.folds.last, foldWays{})
	}
	w := &s.folds.last[from]
	w.ways[w.next%4] = fold{
		tail: s.d[at : end+1], event: int32(len(s.b.Events) - 1),
		epoch: s.folds.epoch[s.b.Origins[from].PID&63],
	}
	w.next++
}

// channelTail returns the offset behind `Channel 00`, if two or three digits
// are there.
func channelTail(d []byte, msg int) (int, bool) {
	const lead = "Channel "
	at := msg + len(lead)
	if at+3 >= len(d) || string(d[msg:at]) != lead || !isDigit(d[at]) || !isDigit(d[at+1]) {
		return 0, false
	}
	at += 2
	if isDigit(d[at]) {
		at++
	}
	return at, !isDigit(d[at])
}
