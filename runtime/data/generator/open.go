package generator

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// Stream is a connection to a program that gives examples.
type Stream struct {
	*bufio.Reader // what is behind the answer
	Answer        Answer
	Answered      bool // there was an answer

	conn   io.ReadWriteCloser
	child  *child // nil: it was not started here
	socket bool
	asked  *Ask
}

// Connect starts or reaches the program at a place, and asks.
func Connect(from string, ask Ask, limit time.Duration) (*Stream, error) {
	p, err := parsePlace(from)
	if err != nil {
		return nil, err
	}
	ask.Version = Version
	s := &Stream{asked: &ask}
	switch p.kind {
	case command:
		if s.child, err = startChild(p.text, s.asked); err != nil {
			return nil, fmt.Errorf("cannot start the program: %w", err)
		}
		s.conn = s.child
	case unixSocket, tcpSocket:
		s.socket = true
		network := map[placeKind]string{unixSocket: "unix", tcpSocket: "tcp"}[p.kind]
		if s.conn, err = net.DialTimeout(network, p.text, min(limit, 30*time.Second)); err != nil {
			return nil, fmt.Errorf("cannot connect to the program: %w", err)
		}
	case descriptor:
		f, err := openDescriptor(p)
		if err != nil {
			return nil, err
		}
		s.conn = f
	}
	s.Reader = bufio.NewReaderSize(s.conn, 1<<16)
	if p.kind != descriptor {
		// A program that does not read what is asked has ended its input, or leaves it in the pipe.
		if _, err := s.conn.Write(s.asked.line()); err != nil && p.kind != command {
			_ = s.Close()
			return nil, fmt.Errorf("cannot send the request to the program: %w", err)
		}
	}
	return s, nil
}

// openDescriptor takes a descriptor that the process was started with.
func openDescriptor(p place) (*os.File, error) {
	f, err := descriptorFile(p.fd, p.text)
	if err != nil {
		return nil, fmt.Errorf("%s is not open", p.text)
	}
	st, err := f.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("%s is not open", p.text)
	case st.IsDir():
		err = fmt.Errorf("%s is a folder", p.text)
	case st.Mode()&os.ModeCharDevice != 0 && p.fd == 0:
		err = errors.New("standard input is a terminal, but should be the output of a program")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Greet reads the answer, if there is one. It waits as long as the program takes.
func (s *Stream) Greet() error {
	head, err := s.Peek(1)
	if err != nil {
		return s.why(err, "before it has given anything")
	}
	if head[0] != '{' {
		return nil
	}
	line, err := s.line()
	if err != nil {
		return err
	}
	a, err := parseAnswer(line, s.asked)
	if err != nil {
		return err
	}
	s.Answer, s.Answered = *a, true
	return nil
}

// line reads the line of the answer.
func (s *Stream) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxAnswer:
			return nil, fmt.Errorf("its answer is longer than %d bytes", maxAnswer)
		case err == nil:
			return bytes.TrimSpace(line), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, s.why(err, "within its answer")
		}
	}
}

// closing is the line behind the last batch.
type closing struct {
	End   bool   `json:"end"`
	Error string `json:"error"`
}

// Closing reports whether the line follows that ends the examples.
func (s *Stream) Closing() bool {
	head, _ := s.Peek(1)
	return len(head) == 1 && head[0] == '{'
}

// End says how a stream has ended, of which no batch is left: io.EOF where it ended well. Of a socket
// whose program has answered, the end is said, as one that breaks off would look like it.
func (s *Stream) End() error {
	head, err := s.Peek(1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case err != nil && s.socket && s.Answered:
		return errors.New("the connection broke before the program announced the end of the examples")
	case err == nil && head[0] != '{':
		return fmt.Errorf("%q follows the last batch", head)
	case err == nil:
		line, err := s.line()
		if err != nil {
			return err
		}
		var c closing
		if err := json.Unmarshal(line, &c); err != nil || !c.End && c.Error == "" {
			return errors.New("the line after the last batch has neither an end nor an error")
		}
		if c.Error != "" {
			return errors.New(c.Error)
		}
	}
	if s.child != nil {
		if err := s.child.ended(); err != nil {
			return err
		}
	}
	return io.EOF
}

// why says why nothing more can be read.
func (s *Stream) why(err error, where string) error {
	if s.child != nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		if e := s.child.ended(); e != nil {
			return e
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the stream has ended %s%s", where, s.Said())
	}
	return err
}

// Torn says why a stream has ended within a batch.
func (s *Stream) Torn(err error) error { return s.why(err, "within a batch") }

// Said is what the program has said last on its standard error, for the end of a message.
func (s *Stream) Said() string {
	if s.child == nil {
		return ""
	}
	return s.child.said.text()
}

// Close ends the connection, and the program if it was started. A read that waits returns.
func (s *Stream) Close() error { return s.conn.Close() }
