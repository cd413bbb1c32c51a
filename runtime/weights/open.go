package weights

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ptc/internal/regular"
	"ptc/runtime/checkpoint/safetensors"
)

// Names of files of a folder.
const (
	configFile = "config.json"
	wholeFile  = "model.safetensors"
	indexFile  = "model.safetensors.index.json"
)

// Limits of what is read of a folder.
const (
	maxConfig = 16 << 20 // bytes
	maxIndex  = 64 << 20
	maxShards = 10_000
)

// Folder is the tensors in a folder, in one file or in shards.
type Folder struct {
	dir   string
	files []*safetensors.File
	at    map[string]*safetensors.File
	adapt *Adapter // is added to the tensors; may be nil
	apart []factor // of adapters that stay apart, by their paths
}

// Open opens the tensors in a folder.
func Open(dir string) (*Folder, error) {
	names := []string{wholeFile}
	text, err := readIn(dir, indexFile, maxIndex)
	switch {
	case err == nil:
		if names, err = shards(text); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, indexFile), err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f := &Folder{dir: dir, at: map[string]*safetensors.File{}}
	for _, name := range names {
		if err := f.add(name); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

func (f *Folder) add(name string) error {
	path, err := within(f.dir, name)
	var file *safetensors.File
	if err == nil {
		file, err = safetensors.Open(path)
	}
	if hint := f.otherForm(); hint != "" && errors.Is(err, fs.ErrNotExist) {
		return errors.New(hint)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f.files = append(f.files, file)
	for _, t := range file.Tensors() {
		if f.at[t.Name] != nil {
			return fmt.Errorf("%s: the tensor %s is in another file as well", path, t.Name)
		}
		f.at[t.Name] = file
	}
	return nil
}

// pickles are the files of a folder that PyTorch's serialization wrote.
var pickles = []string{"pytorch_model.bin", "pytorch_model.bin.index.json"}

// otherForm says how to convert a folder whose parameters are in a form that is not read: it
// may run any program when it is loaded. Empty where there is no such file.
func (f *Folder) otherForm() string {
	for _, name := range pickles {
		if _, err := os.Stat(filepath.Join(f.dir, name)); err == nil {
			return fmt.Sprintf("%s has its parameters in %s, and only safetensors are read; transformers converts them: AutoModelForCausalLM.from_pretrained(%q).save_pretrained(DIR, safe_serialization=True)",
				f.dir, name, f.dir)
		}
	}
	return ""
}

// shards are the files that an index names, sorted. They are in its folder.
func shards(text []byte) ([]string, error) {
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("not an index of shards: %w", err)
	}
	seen := map[string]bool{}
	for _, s := range index.Map {
		if s == "" || s != filepath.Base(s) || strings.ContainsAny(s, `/\`) || s == ".." || s == "." {
			return nil, fmt.Errorf("%q is not a file of this folder", s)
		}
		seen[s] = true
	}
	if len(seen) == 0 || len(seen) > maxShards {
		return nil, fmt.Errorf("an index of %d shards, not of 1 to %d", len(seen), maxShards)
	}
	var out []string
	for s := range seen {
		out = append(out, s)
	}
	slices.Sort(out)
	return out, nil
}

// Close closes the files.
func (f *Folder) Close() {
	for _, file := range f.files {
		_ = file.Close() // was only read
	}
}

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := regular.ReadAll(f, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}
