// Package raytest is a Ray dashboard for tests: it responds as Ray 2.58.0 does, including its
// errors, and lets a test script what a job does.
package raytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Server is the dashboard. Its fields may be changed under Lock while it serves.
type Server struct {
	sync.Mutex

	// Token, when set, is demanded of every request.
	Token string
	// Session is the session's name; change it to play a restarted head.
	Session string
	// Nodes is what the state API lists.
	Nodes []rayapi.Node
	// Actors is what the state API lists.
	Actors []rayapi.Actor
	// Groups is what the state API lists.
	Groups []rayapi.PlacementGroup
	// Jobs holds every job by its submission id.
	Jobs map[string]*rayapi.Job
	// Submissions records what was submitted, in order.
	Submissions []rayapi.Submission
	// Packages holds uploaded packages by name; Pinned those that were read.
	Packages map[string][]byte
	Pinned   map[string]bool
	// Files holds each node's log files by node id and relative path.
	Files map[string]map[string][]byte
	// OnSubmit scripts a new job; nil leaves it RUNNING. It runs under Lock.
	OnSubmit func(*rayapi.Job, rayapi.Submission)
	// OnJobRead runs under Lock at every look at a job.
	OnJobRead func(*rayapi.Job)
	// Fail, when it returns a status other than 0, answers instead of the
	// dashboard. It runs under Lock.
	Fail func(*http.Request) (status int, text string)
	// CutLogs is the number of bytes after which downloads break off; 0: never.
	CutLogs int
	// TailFrames is the number of frames after which the stream of a driver's log ends; 0: none.
	TailFrames int
	// Requests records "METHOD path?query" of every request.
	Requests []string

	http *httptest.Server
}

// New starts a dashboard on the loopback with a head and no workers.
func New() *Server {
	server := &Server{
		Session:  "session_2026-01-01_00-00-00_000000_1",
		Nodes:    []rayapi.Node{{ID: "head0", IP: "10.0.0.1", IsHead: true, State: rayapi.Alive}},
		Jobs:     map[string]*rayapi.Job{},
		Packages: map[string][]byte{},
		Pinned:   map[string]bool{},
		Files:    map[string]map[string][]byte{},
	}
	server.http = httptest.NewServer(server)
	return server
}

// URL is where it serves.
func (s *Server) URL() string { return s.http.URL }

// Close ends it.
func (s *Server) Close() { s.http.Close() }

// Seen counts the requests that start with prefix, such as "POST /api/jobs/".
func (s *Server) Seen(prefix string) int {
	s.Lock()
	defer s.Unlock()
	count := 0
	for _, request := range s.Requests {
		if strings.HasPrefix(request, prefix) {
			count++
		}
	}
	return count
}

// AddFile puts a log file on a node. The caller holds Lock or is a hook.
func (s *Server) AddFile(node, name string, text []byte) {
	if s.Files[node] == nil {
		s.Files[node] = map[string][]byte{}
	}
	s.Files[node][name] = text
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if id, tail := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/jobs/"), "/logs/tail"); tail {
		s.serveTail(w, r, id)
		return
	}
	s.Lock()
	defer s.Unlock()
	s.Requests = append(s.Requests, r.Method+" "+r.URL.RequestURI())
	if s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token {
		if r.Header.Get("Authorization") == "" {
			http.Error(w, "Unauthorized: Missing authentication token", http.StatusUnauthorized)
			return
		}
		http.Error(w, "Forbidden: Invalid authentication token", http.StatusForbidden)
		return
	}
	if s.Fail != nil {
		if status, text := s.Fail(r); status != 0 {
			http.Error(w, text, status)
			return
		}
	}
	switch {
	case r.URL.Path == "/api/version":
		reply(
			w,
			map[string]string{"version": "4", "ray_version": "2.58.0", "session_name": s.Session},
		)
	case strings.HasPrefix(r.URL.Path, "/api/jobs/"):
		s.serveJobs(w, r, strings.TrimPrefix(r.URL.Path, "/api/jobs/"))
	case strings.HasPrefix(r.URL.Path, "/api/packages/gcs/"):
		s.servePackages(w, r, strings.TrimPrefix(r.URL.Path, "/api/packages/gcs/"))
	case r.URL.Path == "/api/v0/nodes":
		reply(w, list(map[string]any{"total": len(s.Nodes), "result": s.Nodes}))
	case r.URL.Path == "/api/v0/actors":
		reply(w, list(map[string]any{"total": len(s.Actors), "result": s.Actors}))
	case r.URL.Path == "/api/v0/placement_groups":
		reply(w, list(map[string]any{"total": len(s.Groups), "result": s.Groups}))
	case r.URL.Path == "/api/v0/logs":
		s.serveLogList(w, r)
	case r.URL.Path == "/api/v0/logs/file":
		s.serveLogFile(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) serveJobs(w http.ResponseWriter, r *http.Request, rest string) {
	id, stop := strings.CutSuffix(rest, "/stop")
	switch {
	case rest == "" && r.Method == http.MethodPost:
		s.submit(w, r)
	case rest == "" && r.Method == http.MethodGet:
		reply(w, slices.Collect(maps.Values(s.Jobs)))
	case s.Jobs[id] == nil:
		http.Error(w, fmt.Sprintf("Job %s does not exist", id), http.StatusNotFound)
	case r.Method == http.MethodDelete && !s.Jobs[id].Status.Final():
		http.Error(w, "RuntimeError: Attempted to delete job '"+id+"', but it is in a non-terminal state "+
			string(s.Jobs[id].Status)+".", http.StatusInternalServerError)
	case r.Method == http.MethodDelete:
		delete(s.Jobs, id)
		reply(w, map[string]bool{"deleted": true})
	case stop && r.Method == http.MethodPost:
		job := s.Jobs[id]
		running := !job.Status.Final()
		if job.Status == rayapi.Running { // PENDING: says yes, does nothing
			job.Status = rayapi.Stopped
		}
		reply(w, map[string]bool{"stopped": running})
	default:
		if s.OnJobRead != nil {
			s.OnJobRead(s.Jobs[id])
		}
		reply(w, s.Jobs[id])
	}
}

// serveTail serves the websocket of a driver's log: frames of ten lines, from the first byte, until
// the job has ended, or until TailFrames were sent.
func (s *Server) serveTail(w http.ResponseWriter, r *http.Request, id string) {
	s.Lock()
	s.Requests = append(s.Requests, r.Method+" "+r.URL.RequestURI())
	job, denied := s.Jobs[id], s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token
	s.Unlock()
	switch {
	case denied:
		http.Error(w, "Unauthorized: Missing authentication token", http.StatusUnauthorized)
		return
	case job == nil:
		http.Error(w, "Job "+id+" does not exist", http.StatusNotFound)
		return
	}
	conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	defer func() { _ = conn.Close() }()
	for sent, frames := 0, 0; ; {
		s.Lock()
		text := s.Files[job.DriverNodeID]["job-driver-"+id+".log"][sent:]
		final := job.Status.Final()
		limit := s.TailFrames
		s.Unlock()
		if frames == limit && limit > 0 || !utf8.Valid(text) || final && len(text) == 0 {
			break
		}
		lines := bytes.SplitAfterN(text, []byte("\n"), 11)
		frame := bytes.Join(lines[:min(10, len(lines))], nil)
		if len(frame) == 0 {
			time.Sleep(time.Millisecond)
			continue
		}
		if conn.WriteMessage(websocket.TextMessage, frame) != nil {
			return
		}
		sent, frames = sent+len(frame), frames+1
	}
	// Ray closes with 1000 whatever the reason.
	_ = conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")) //nolint:errcheck // the client's loss
}

func (s *Server) submit(w http.ResponseWriter, r *http.Request) {
	var submission rayapi.Submission
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&submission); err != nil || submission.Entrypoint == "" {
		http.Error(
			w,
			"Traceback (most recent call last):\nTypeError: bad request",
			http.StatusBadRequest,
		)
		return
	}
	if s.Jobs[submission.ID] != nil {
		http.Error(
			w,
			"Traceback (most recent call last):\nValueError: Job with submission_id "+submission.ID+
				" already exists. Please use a different submission_id.",
			http.StatusInternalServerError,
		)
		return
	}
	job := &rayapi.Job{
		SubmissionID: submission.ID, Status: rayapi.Running, Entrypoint: submission.Entrypoint,
		Metadata: submission.Metadata, DriverNodeID: s.Nodes[0].ID,
	}
	for _, uri := range append(submission.RuntimeEnv.PyModules, submission.RuntimeEnv.WorkingDir) {
		if name := strings.TrimPrefix(uri, "gcs://"); name != "" && !s.Pinned[name] {
			job.Status, job.ErrorType = rayapi.Failed, "RUNTIME_ENV_SETUP_FAILURE"
			job.Message = "Failed to download runtime_env file package " + name
		}
	}
	s.Jobs[submission.ID] = job
	s.Submissions = append(s.Submissions, submission)
	if s.OnSubmit != nil {
		s.OnSubmit(job, submission)
	}
	reply(w, map[string]string{"job_id": submission.ID, "submission_id": submission.ID})
}

func (s *Server) servePackages(w http.ResponseWriter, r *http.Request, name string) {
	if r.Method == http.MethodPut {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		s.Packages[name] = text
		return
	}
	if s.Packages[name] == nil {
		http.Error(w, "Package gcs://"+name+" does not exist", http.StatusNotFound)
		return
	}
	s.Pinned[name] = true
}

func (s *Server) alive(w http.ResponseWriter, id string) bool {
	for _, node := range s.Nodes {
		if node.ID == id && node.State == rayapi.Alive {
			return true
		}
	}
	http.Error(w, "Failed to query the data source", http.StatusInternalServerError)
	return false
}

func (s *Server) serveLogList(w http.ResponseWriter, r *http.Request) {
	node := r.URL.Query().Get("node_id")
	if !s.alive(w, node) {
		return
	}
	files := []string{}
	for name := range s.Files[node] {
		if matched, err := path.Match(r.URL.Query().Get("glob"), name); err == nil && matched {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	reply(w, list(map[string][]string{"internal": files, "agent": {"folder/"}}))
}

func (s *Server) serveLogFile(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !s.alive(w, query.Get("node_id")) {
		return
	}
	text, ok := s.Files[query.Get("node_id")][query.Get("filename")]
	if !ok {
		http.Error(
			w,
			"A file is not found at: "+query.Get("filename"),
			http.StatusInternalServerError,
		)
		return
	}
	if query.Get("lines") != "-1" { // the default is the last 1000 lines
		lines := strings.SplitAfter(string(text), "\n")
		text = []byte(strings.Join(lines[max(0, len(lines)-1001):], ""))
	}
	if s.CutLogs > 0 && len(text) > s.CutLogs {
		_, _ = w.Write(text[:s.CutLogs]) //nolint:errcheck // the reply is about to be broken anyway
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler) // the documented way to break a reply off
	}
	_, _ = w.Write(text) //nolint:errcheck // the client's loss
}

func list(result any) map[string]any {
	return map[string]any{"result": true, "msg": "", "data": map[string]any{"result": result}}
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
