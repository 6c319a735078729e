package podinit

import (
	"encoding/json"
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// maxRequest bounds one message on the control socket. Arguments and
// environment of an exec session have to fit.
const maxRequest = 128 << 10

// supervisor is the init's one loop: it owns every child.
type supervisor struct {
	main     int         // the container's command
	sessions map[int]int // process id -> request id
	signals  chan os.Signal
	requests chan request
	gone     chan struct{} // closed when the agent's end of the socket is
}

type request struct {
	ExecRequest
	stdio [3]*os.File
}

func newSupervisor() *supervisor {
	return &supervisor{
		sessions: map[int]int{},
		signals:  make(chan os.Signal, 64),
		requests: make(chan request),
		gone:     make(chan struct{}),
	}
}

// loop runs until the container's command has ended and returns its status.
// Its return ends PID 1, upon which the kernel kills what is left inside.
func (s *supervisor) loop() int {
	for {
		select {
		case received := <-s.signals:
			number, ok := received.(unix.Signal)
			if !ok {
				continue
			}
			if number != unix.SIGCHLD {
				_ = unix.Kill(s.main, number)
				continue
			}
			if code, ended := s.reap(); ended {
				signal.Stop(s.signals)
				return code
			}
		case r := <-s.requests:
			s.serve(r)
		case <-s.gone:
			return 128 + int(unix.SIGKILL)
		}
	}
}

// reap collects every child that has ended. SIGCHLD does not queue, so one
// signal can stand for many.
func (s *supervisor) reap() (code int, ended bool) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return code, ended
		}
		if pid == s.main {
			code, ended = exitCode(status), true
		}
		if id, ok := s.sessions[pid]; ok {
			delete(s.sessions, pid)
			s.answer(ExecResult{ID: id, Code: exitCode(status)})
		}
	}
}

func exitCode(status unix.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

func (s *supervisor) serve(r request) {
	if r.Kill {
		for pid, id := range s.sessions {
			if id == r.ID {
				_ = unix.Kill(-pid, unix.SIGKILL)
			}
		}
		return
	}
	pid, err := launch(r.Command, r.stdio)
	for _, file := range r.stdio {
		_ = file.Close()
	}
	if err != nil {
		s.answer(ExecResult{ID: r.ID, Code: setupFailed, Error: err.Error()})
		return
	}
	s.sessions[pid] = r.ID
}

func (s *supervisor) answer(result ExecResult) {
	data, err := json.Marshal(result)
	if err != nil {
		return
	}
	_ = unix.Send(controlFD, data, unix.MSG_NOSIGNAL) // if the daemon is gone, the loop ends
}

// receive passes requests to the loop, which must start every child: it is on the thread that is
// inside the namespaces.
func (s *supervisor) receive(socket int) {
	defer close(s.gone)
	buffer, control := make([]byte, maxRequest), make([]byte, unix.CmsgSpace(3*4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(socket, buffer, control, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		var r request
		if json.Unmarshal(buffer[:n], &r.ExecRequest) != nil {
			continue
		}
		if !r.Kill {
			files, ok := receivedFiles(control[:oobn])
			if !ok {
				const problem = "exec request without three descriptors"
				s.answer(ExecResult{ID: r.ID, Code: setupFailed, Error: problem})
				continue
			}
			r.stdio = files
		}
		s.requests <- r
	}
}

func receivedFiles(control []byte) (files [3]*os.File, ok bool) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return files, false
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != len(files) {
		return files, false
	}
	for i, fd := range descriptors {
		files[i] = os.NewFile(uintptr(fd), "stdio")
	}
	return files, true
}
