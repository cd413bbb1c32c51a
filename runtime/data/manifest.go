package data

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// manifestName is the file next to shards that says what they are.
const manifestName = "manifest.json"

// maxManifest bounds a manifest, which has a line for each shard and each file.
const maxManifest = 256 << 20

// Manifest describes the shards of a folder.
type Manifest struct {
	Format    string `json:"format"` // ManifestFormat
	DType     string `json:"dtype"`  // u16 or u32
	Vocab     int    `json:"vocab"`
	Tokenizer string `json:"tokenizer"` // SHA-256 of the file, in hexadecimal digits
	// TokenizerFile is the name of that file without its folder: where to look for it
	// when tokens are to be text again.
	TokenizerFile string  `json:"tokenizer_file,omitempty"`
	Separator     string  `json:"separator,omitempty"`
	Input         string  `json:"input"`             // SHA-256 of the names and sizes of the files that the tokens are of, and of how they were read
	Content       string  `json:"content,omitempty"` // SHA-256 of the SHA-256 of each of these files
	Tokens        int64   `json:"tokens"`
	Documents     int64   `json:"documents"`
	Shards        []Shard `json:"files"`

	// For conversations: what identifies their chat template, its files next to the
	// shards, the date that it wrote, and whether each document is two answers.
	Template      string   `json:"template,omitempty"`
	TemplateFiles []string `json:"template_files,omitempty"`
	Date          string   `json:"date,omitempty"`
	Pairs         bool     `json:"pairs,omitempty"`
}

// ManifestFormat is the first line of a manifest of this version, and
// ConversationFormat that of one whose tokens have marks.
const (
	ManifestFormat     = "ptc tokens 1"
	ConversationFormat = "ptc conversations 1"
)

// Shard is one file of tokens.
type Shard struct {
	Name      string `json:"name"`
	Tokens    int64  `json:"tokens"`
	Documents int64  `json:"documents"`
	SHA256    string `json:"sha256"`
}

// Names of files next to shards: the manifest, and that of shards which are not all there yet.
const (
	ManifestName = manifestName
	PartialName  = "manifest.partial.json"
)

// ReadManifest reads a manifest.
func ReadManifest(path string) (*Manifest, error) { return readManifest(path) }

func readManifest(path string) (*Manifest, error) {
	raw, err := readAll(path, maxManifest)
	if err != nil {
		return nil, err
	}
	return parseManifest(raw)
}

func parseManifest(raw []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("it is not in JSON: %w", err)
	}
	if m.Format != ManifestFormat && m.Format != ConversationFormat {
		return nil, fmt.Errorf("its format is %q, and %q and %q are known", m.Format, ManifestFormat, ConversationFormat)
	}
	if m.DType != "u16" && m.DType != "u32" {
		return nil, fmt.Errorf("its dtype is %q, and u16 and u32 are known", m.DType)
	}
	for _, n := range append([]string{m.TokenizerFile}, m.TemplateFiles...) {
		if n != "" && n != filepath.Base(n) {
			return nil, fmt.Errorf("it names the file %q, which is no name of a file", n)
		}
	}
	return m, nil
}
