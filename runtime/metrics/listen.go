package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Server answers HTTP during a run, which it never waits for.
type Server struct {
	listener net.Listener
	http     *http.Server
	stop     context.CancelFunc
}

// Listen answers at an address, host:port. Without a host that is this machine alone,
// 127.0.0.1: what a run does is nobody's else unless its user says so.
func Listen(addr string, h http.Handler) (*Server, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%q is no address such as :8080 or 10.0.0.7:8080", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, fmt.Errorf("cannot listen at %s: %w", net.JoinHostPort(host, port), err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{listener: l, stop: stop, http: &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, WriteTimeout: WriteWait,
		MaxHeaderBytes: 1 << 14, BaseContext: func(net.Listener) context.Context { return ctx }}}
	if ip, ok := l.Addr().(*net.TCPAddr); ok && ip.IP.IsLoopback() {
		s.http.Handler = local(h)
	}
	go s.http.Serve(limit(l, connections())) // until Close, which is the error that it gives
	return s, nil
}

// WriteWait is how long an answer may wait for who reads it.
const WriteWait = 30 * time.Second

// Open says whether other machines reach it.
func (s *Server) Open() bool {
	ip, ok := s.listener.Addr().(*net.TCPAddr)
	return !ok || !ip.IP.IsLoopback()
}

// local refuses requests that name another host: a page of that host, whose name was
// made to mean this machine, would read what is not its.
func local(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this is for 127.0.0.1 alone", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Addr is where it listens, with the port that was chosen for :0.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends what is being answered, in at most a second, and stops listening.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.stop()
		s.http.Close() // who is too slow is cut off; the run is done
	}
	s.stop()
	return nil
}
