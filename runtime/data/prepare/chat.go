package prepare

import (
	"fmt"
	"os"
	"path/filepath"

	"ptc/runtime/chat"
	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/data"
)

// describeChat notes in the manifest what conversations became tokens by.
func (w *writer) describeChat() {
	m := &w.m
	m.Format, m.DType = data.ConversationFormat, "u32"
	m.Template, m.Date, m.Pairs = w.o.Chat.ID(), w.o.Date, w.o.Pairs
	for _, path := range w.o.Chat.Files() {
		m.TemplateFiles = append(m.TemplateFiles, templateName(path))
	}
}

// templateName is what a file of a template is called next to the shards: as it has to
// be next to a tokenizer.
func templateName(path string) string {
	if name := filepath.Base(path); name == chat.ConfigName {
		return name
	}
	return chat.TemplateName
}

// keepTemplate copies the template next to the shards, so that a model that learns of
// them can be talked to.
func (w *writer) keepTemplate() error {
	if w.o.Chat == nil {
		return nil
	}
	for _, path := range w.o.Chat.Files() {
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := atomicfile.WriteFile(filepath.Join(w.o.Dir, templateName(path)), raw); err != nil {
			return err
		}
	}
	return nil
}

// encodeChat makes tokens with marks of a record.
func (w *writer) encodeChat(j *job) {
	var err error
	if j.ids, err = data.EncodeRecord(w.o.Chat, j.doc.Record, w.o.Columns, w.o.Pairs); err != nil {
		j.err = &FileError{j.name, fmt.Errorf("%s: %w", j.doc.Place, err)}
	}
}

// DateOf is the date that the shards of a folder have, where a template wrote one, so
// that an interrupted call goes on with it on the next day.
func DateOf(dir string) string {
	for _, name := range []string{data.ManifestName, data.PartialName} {
		if m, err := data.ReadManifest(filepath.Join(dir, name)); err == nil {
			return m.Date
		}
	}
	return ""
}
