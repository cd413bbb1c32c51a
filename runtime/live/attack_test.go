package live

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"ptc/runtime/metrics"
)

// TestIdleReaders: readers that send nothing, or read nothing, take no more connections than there are for all,
// and who comes later is told so or served.
func TestIdleReaders(t *testing.T) {
	s := serve(t)
	s.Tell(&metrics.Start{Name: "M", First: 1, Last: 2})
	var all []net.Conn
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	for i := range 300 {
		c, err := net.DialTimeout("tcp", s.Addr(), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		if i%2 == 0 {
			fmt.Fprintf(c, "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		}
	}
	refused := 0
	for _, c := range all {
		if err := c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 12)
		if n, err := io.ReadFull(c, head); err == nil && string(head) == "HTTP/1.1 503" || err != nil && !isTimeout(err) && n == 0 {
			refused++
		}
		if refused > 200 {
			break // the others wait for nothing
		}
	}
	if refused < 200 {
		t.Errorf("%d of 300 are refused", refused)
	}
	for _, c := range all {
		c.Close()
	}
	for i := 0; ; i++ { // there is room again
		c, err := net.DialTimeout("tcp", s.Addr(), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
		text, _ := io.ReadAll(c)
		c.Close()
		if strings.HasPrefix(string(text), "HTTP/1.0 200") {
			return
		}
		if i > 500 {
			t.Fatalf("%.80q", text)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

// TestOpen: an address of this machine alone is not open, and every other one is.
func TestOpen(t *testing.T) {
	for addr, open := range map[string]bool{":0": false, "127.0.0.1:0": false, "localhost:0": false, "0.0.0.0:0": true} {
		s, err := Serve(addr, Plan{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Open() != open {
			t.Errorf("%s: open is %t", addr, s.Open())
		}
		s.Close()
	}
}
