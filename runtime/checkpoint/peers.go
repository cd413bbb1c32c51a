package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"ptc/runtime/storage"
)

// Peers are the processes of a job, which write a checkpoint together, each a part, and open one together, each
// with a share of the hashes to compare. What they say to one another are some bytes; what they write and read
// does not pass through any of them.
type Peers struct {
	Rank, Size int

	// Gather gives what every process says, by rank, which is as long for each. All call it at the same points.
	Gather func(mine []byte) ([]byte, error)
}

// PeerError is the error of a process that cannot go on because of what another one found.
type PeerError struct {
	Rank  int
	Msg   string
	fault bool // as of storage.Fault
}

func (e *PeerError) Error() string { return fmt.Sprintf("rank %d: %s", e.Rank, e.Msg) }

// faulty says whether an error says nothing of a checkpoint, as the store cannot be read.
func faulty(err error) bool {
	var p *PeerError
	return storage.Fault(err) || errors.As(err, &p) && p.fault
}

// What a process says of what it did.
const (
	fine byte = iota
	failed
	fault
)

// textBytes is as much as processes tell one another of an error.
const textBytes = 512

// Agree gives every process an error where one has: the worst, of equal ones that of the lowest rank. Of one that
// is the store's, all know it.
func (p *Peers) Agree(err error) error {
	mine := fine
	switch {
	case faulty(err):
		mine = fault
	case err != nil:
		mine = failed
	}
	all, e := p.Gather([]byte{mine})
	if e != nil {
		return e
	}
	worst, rank := fine, 0
	for i, x := range all {
		if x > worst {
			worst, rank = x, i
		}
	}
	if worst == fine {
		return nil
	}
	text := make([]byte, textBytes)
	if err != nil {
		copy(text, err.Error())
	}
	if all, e = p.Gather(text); e != nil {
		return e
	}
	if rank == p.Rank {
		return err
	}
	said := bytes.TrimRight(all[rank*textBytes:(rank+1)*textBytes], "\x00")
	return &PeerError{rank, strings.ToValidUTF8(string(said), ""), worst == fault}
}

// same fails on every process where one has other bytes than rank 0.
func (p *Peers) same(mine []byte, otherwise string) error {
	sum := sha256.Sum256(mine)
	all, err := p.Gather(sum[:])
	if err != nil {
		return err
	}
	for rank := range p.Size {
		if !bytes.Equal(all[rank*len(sum):(rank+1)*len(sum)], all[:len(sum)]) {
			return fmt.Errorf("rank %d %s", rank, otherwise)
		}
	}
	return nil
}

// tellBytes is as much as rank 0 tells of a draft.
const tellBytes = 128

// tell gives every process a short text of rank 0.
func (p *Peers) tell(text string) (string, error) {
	mine := make([]byte, tellBytes)
	if len(text) > len(mine)-2 {
		panic("checkpoint: too long to be told: " + text)
	}
	binary.LittleEndian.PutUint16(mine, uint16(copy(mine[2:], text)))
	all, err := p.Gather(mine)
	if err != nil {
		return "", err
	}
	n := min(int(binary.LittleEndian.Uint16(all)), tellBytes-2)
	return string(all[2 : 2+n]), nil
}
