package nccl

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"ptc/runtime/comm"
)

// Agree says why the devices of a mesh cannot all exchange by NCCL, or nil. Every device asks at the same
// point, with the number that tells its GPU from others, or why it has none, or not the library:
// NCCL needs a GPU for each device.
func Agree(host comm.Device, gpu [16]byte, mine error) error {
	text := make([]byte, len(gpu)+textBytes)
	copy(text, gpu[:])
	if mine != nil {
		copy(text[len(gpu):], mine.Error())
		if mine.Error() == "" {
			text[len(gpu)] = '?'
		}
	}
	all, err := comm.Gather(host, text, "whether GPUs exchange by NCCL")
	if err != nil {
		return err
	}
	if mine != nil {
		return mine
	}
	of := map[string]int{}
	for rank := range host.Mesh().Size() {
		id, why := all[rank*len(text):][:len(gpu)], all[rank*len(text):][len(gpu):len(text)]
		if why = bytes.TrimRight(why, "\x00"); len(why) > 0 {
			return fmt.Errorf("rank %d: %w", rank, errors.New(strings.ToValidUTF8(string(why), "")))
		}
		if first, known := of[string(id)]; known {
			return fmt.Errorf("ranks %d and %d share a GPU, but NCCL needs one GPU for each rank", first, rank)
		}
		of[string(id)] = rank
	}
	return nil
}
