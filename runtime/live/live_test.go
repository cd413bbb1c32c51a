package live

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ptc/runtime/metrics"
)

func serve(t *testing.T) *Sink {
	t.Helper()
	s, err := Serve(":0", Plan{Name: `</script><b>`, Layout: "two", Arena: 1 << 20, LeastMs: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// follow reads the data of events until one begins with last, or the stream ends.
func follow(t *testing.T, s *Sink, last string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.Addr()+"/events", nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer a.Body.Close()
	if kind := a.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("a stream of %s", kind)
	}
	var out []string
	for lines := bufio.NewScanner(a.Body); lines.Scan(); {
		if text := lines.Text(); text != "" {
			if out = append(out, text); strings.HasPrefix(text, last) {
				break
			}
		}
	}
	return out
}

// TestStream: who comes late gets what was before, and all are told of the end.
func TestStream(t *testing.T) {
	s := serve(t)
	s.Tell(&metrics.Start{Name: "M", First: 1, Last: 2})
	s.Tell(&metrics.Step{Step: 1, Loss: 2.5})
	got := follow(t, s, `data: {"event":"step"`)
	if len(got) != 4 || got[0] != "event: again" || !strings.HasPrefix(got[2], `data: {"event":"start","name":"M"`) || !strings.Contains(got[3], `"loss":2.5`) {
		t.Errorf("told %q", got)
	}
	s.await(t, 0)
	done := make(chan []string, 1)
	go func() { done <- follow(t, s, "event: done") }()
	s.await(t, 1)
	s.Tell(&metrics.End{Steps: 2, Loss: 2})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got = <-done
	if len(got) < 2 || got[len(got)-1] != "event: done" || !strings.Contains(got[len(got)-2], `"event":"end"`) {
		t.Errorf("at the end %q", got)
	}
	if _, err := http.Get("http://" + s.Addr() + "/"); err == nil {
		t.Error("answers after the run")
	}
	s.Tell(&metrics.Step{Step: 3}) // too late, and no harm
}

func (s *Sink) readers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clients)
}

// await waits until so many read along.
func (s *Sink) await(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); s.readers() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d readers, not %d", s.readers(), n)
		}
	}
}

// TestSlowReader: who does not read is cut off, and telling does not wait for it.
func TestSlowReader(t *testing.T) {
	s := serve(t)
	c, _ := s.join() // and never reads
	done := make(chan bool)
	go func() {
		for i := range 4 * waiting {
			s.Tell(&metrics.Step{Step: int64(i)})
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the run waits for who does not read")
	}
	n := 0
	for range c.events { // closed
		n++
	}
	if n != waiting || s.readers() != 0 {
		t.Errorf("%d events wait for it, of %d; %d readers", n, waiting, s.readers())
	}
}

// TestHistoryIsBounded: of a long run every other step is forgotten, the start never.
func TestHistoryIsBounded(t *testing.T) {
	s := serve(t)
	s.Tell(&metrics.Start{Name: "M"})
	for i := range 5 * kept {
		s.Tell(&metrics.Step{Step: int64(i + 1)})
		if i%3 == 0 {
			s.Tell(&metrics.Validation{Step: int64(i + 1)})
		}
	}
	if n := len(s.events); n > 2*kept || n < kept/4 {
		t.Errorf("%d events are kept", n)
	}
	if !strings.HasPrefix(string(s.events[0]), `{"event":"start"`) {
		t.Errorf("the first event is %s", s.events[0])
	}
}

// TestPage: its policy is that of its script, and names are text.
func TestPage(t *testing.T) {
	s := serve(t)
	a, err := http.Get("http://" + s.Addr() + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	policy := a.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "connect-src 'self'") || !strings.Contains(string(text), fmt.Sprintf(`content="%s"`, policy)) {
		t.Errorf("the policy is %q", policy)
	}
	if strings.Contains(string(text), "<b>") && strings.Contains(string(text), "</script><b>") || strings.Count(string(text), "</script>") != 2 {
		t.Error("a name is markup")
	}
	for _, path := range []string{"/other", "/events/x"} {
		a, err := http.Get("http://" + s.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		if a.Body.Close(); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s answers %d", path, a.StatusCode)
		}
	}
	if _, err := Serve("nowhere", Plan{}); err == nil {
		t.Error("an address without a port")
	}
}
