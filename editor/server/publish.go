package server

import (
	"context"
	"maps"
	"slices"
	"sort"
	"time"

	"ptc/editor/protocol"
	"ptc/editor/query"
	"ptc/lang/source"
)

// schedule tells diagnostics once nothing was edited for a while; s.mu is held.
func (s *server) schedule() {
	if s.timer != nil {
		s.timer.Stop()
	}
	programs := s.programs
	s.timer = time.AfterFunc(s.options.Delay, func() {
		_, _ = guarded(func() (any, error) { s.publish(programs); return nil, nil })
	})
}

// publish tells the mistakes of programs, first as the language has them, and again when
// they were compiled. It ends where an edit made others of them.
func (s *server) publish(programs map[string]*state) {
	uris := slices.Sorted(maps.Keys(programs))
	for _, u := range uris {
		if programs[u].wait(context.Background()) != nil {
			return
		}
	}
	s.tell(programs, uris)
	for _, u := range uris {
		<-programs[u].compiled
	}
	s.tell(programs, uris)
	s.mu.Lock()
	stale := s.refresh
	current := s.current(programs)
	s.mu.Unlock()
	if !current {
		return
	}
	if stale.hints {
		s.ask("workspace/inlayHint/refresh")
	}
	if stale.lenses {
		s.ask("workspace/codeLens/refresh")
	}
}

// current is whether programs are those of now; s.mu is held.
func (s *server) current(programs map[string]*state) bool {
	return !s.stopped && maps.Equal(programs, s.programs)
}

// ask sends a request whose answer says nothing.
func (s *server) ask(method string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = s.conn.Call(ctx, method, nil, nil) // an editor that does not answer is left so
}

// tell sends the diagnostics of programs, and takes back those of files without any.
func (s *server) tell(programs map[string]*state, uris []string) {
	all := map[string][]protocol.Diagnostic{}
	for _, u := range uris {
		n := programs[u]
		v := &query.View{Program: n.program, File: n.program.Main, Now: n.main.text, URI: func(f *source.File) string { return s.uriOfFile(n, f) }}
		select {
		case <-n.compiled:
			v.Structure = n.structure
		default:
		}
		for uri, list := range v.Diagnostics() {
			for _, d := range list {
				all[uri] = add(all[uri], d)
			}
		}
	}
	s.mu.Lock()
	if !s.current(programs) {
		s.mu.Unlock()
		return
	}
	for _, u := range uris {
		if all[u] == nil {
			all[u] = []protocol.Diagnostic{}
		}
	}
	for u := range s.told {
		if all[u] == nil {
			all[u] = []protocol.Diagnostic{}
		}
	}
	s.told = map[string]bool{}
	var messages []protocol.PublishParams
	for u, list := range all {
		p := protocol.PublishParams{URI: u, Diagnostics: list}
		if d := s.docs[u]; d != nil {
			version := d.version
			p.Version = &version
		}
		if len(list) > 0 {
			s.told[u] = true
		}
		messages = append(messages, p)
	}
	s.mu.Unlock()
	sort.Slice(messages, func(i, j int) bool { return messages[i].URI < messages[j].URI })
	for _, m := range messages {
		_ = s.conn.Notify(context.Background(), "textDocument/publishDiagnostics", m)
	}
}

// add adds a diagnostic that is not there: two programs may have one file.
func add(list []protocol.Diagnostic, d protocol.Diagnostic) []protocol.Diagnostic {
	for _, o := range list {
		if o.Range == d.Range && o.Code == d.Code && o.Message == d.Message {
			return list
		}
	}
	return append(list, d)
}
