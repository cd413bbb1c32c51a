package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"ptc/internal/order"
	"ptc/runtime/checkpoint/safetensors"
)

// Slice is a box of a global tensor; the zero Slice is all of it.
type Slice = safetensors.Slice

// Tensor describes a global tensor.
type Tensor struct {
	safetensors.Tensor          // its name is the path of a parameter, or of its state: path/state
	Axes               []string // their names, one for each axis
}

const (
	modelFile     = "model.safetensors"
	optimizerFile = "optimizer.safetensors"
)

// dataFiles are the files of every checkpoint that is in no parts, with or without tensors in them; of one in
// parts, those of each part have a number in their names.
var dataFiles = [...]string{modelFile, optimizerFile}

// fileOf says where a tensor is: a path never has a slash, a state always.
func fileOf(name string) string {
	if strings.Contains(name, "/") {
		return optimizerFile
	}
	return modelFile
}

// stepKey is the metadata of the data files that says of which step they are.
const stepKey = "step"

// partName is the name of a part's file: model-00003-of-00016.safetensors.
func partName(file string, part, parts int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.safetensors", strings.TrimSuffix(file, ".safetensors"), part, parts)
}

// partFiles are the names of a part's files, in the order of dataFiles. Part 0 is a checkpoint that is in no
// parts.
func partFiles(part, parts int) [len(dataFiles)]string {
	names := dataFiles
	if part > 0 {
		for i, file := range dataFiles {
			names[i] = partName(file, part, parts)
		}
	}
	return names
}

// fileIndex is the place in the manifest of the file of a part that a tensor is in.
func fileIndex(tensor string, part int) int {
	i := max(0, part-1) * len(dataFiles)
	if fileOf(tensor) != dataFiles[0] {
		i++
	}
	return i
}

// Order is that in which tensors are to be written, each whole, by their place in the
// list: an object is sent while it is written, from its start to its end. Files of this
// machine take any order, and slices.
func Order(tensors []Tensor) []int {
	return order.By(len(tensors), func(a, b int) int { return safetensors.FileOrder(&tensors[a].Tensor, &tensors[b].Tensor) })
}

// manifestFile is a data file as the manifest has it.
type manifestFile struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// hashBlock is how much of a file is read at once to be hashed: of an object that is
// several requests.
const hashBlock = 16 << 20

func hashFile(f io.ReaderAt, size int64, name string) (manifestFile, error) {
	h := sha256.New()
	n, err := io.CopyBuffer(h, io.NewSectionReader(f, 0, size), make([]byte, min(hashBlock, size+1)))
	return manifestFile{Name: name, Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}
