package checkpoint

import (
	"bytes"
	"errors"
	"sync"
)

// crew are processes that say things to one another, as goroutines.
type crew struct {
	mu   sync.Mutex
	now  *round
	dead bool // one of them is: nothing is heard any more
}

// round is what all say once.
type round struct {
	said  [][]byte
	n     int
	ended chan struct{}
	err   error
}

var errCrew = errors.New("a process is dead")

func newCrew(n int) (*crew, []*Peers) {
	c := &crew{}
	peers := make([]*Peers, n)
	for rank := range peers {
		peers[rank] = &Peers{Rank: rank, Size: n, Gather: func(mine []byte) ([]byte, error) { return c.gather(rank, n, mine) }}
	}
	return c, peers
}

func (c *crew) gather(rank, n int, mine []byte) ([]byte, error) {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return nil, errCrew
	}
	if c.now == nil {
		c.now = &round{said: make([][]byte, n), ended: make(chan struct{})}
	}
	r := c.now
	r.said[rank] = bytes.Clone(mine)
	if r.n++; r.n == n {
		c.now = nil
		close(r.ended)
	}
	c.mu.Unlock()
	<-r.ended
	return bytes.Join(r.said, nil), r.err
}

// die ends all that is said.
func (c *crew) die() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	if c.now != nil {
		c.now.err = errCrew
		close(c.now.ended)
		c.now = nil
	}
}

// together runs a process each, and gives their errors. One that panics with errDead is dead.
func together(peers []*Peers, c *crew, do func(p *Peers) error) []error {
	errs := make([]error, len(peers))
	var wg sync.WaitGroup
	for i, p := range peers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if errs[i] = do(p); errors.Is(errs[i], errDead) {
				c.die()
			}
		}()
	}
	wg.Wait()
	return errs
}
