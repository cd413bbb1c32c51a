package data

import (
	"crypto/sha256"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"ptc/internal/units"
)

func init() { Register("arrays", openArrays) }

// fileKey is what follows the name of a field in the option with its file.
const fileKey = "_file"

// arrays are examples along the first axis of arrays in files, which stay there: row
// n of every field is row n of its array.
//
// Options:
//
//	x_file   of the field x: a .npy file, or "file.safetensors:name"; may have ${NAME}
//	x_below  numbers of the field x, i32, have to be below it
//	x_least  and not below it
//	scale    the factor for integers of an f32 field, 1
//	valid    share held out, 0.05; absent, it yields to few rows
//	shuffle  true, or false for the order of the rows
//	seed     of the shuffle, else the run's
//
// Fields: those that are asked for, i32 of whole numbers and f32 of any. What is held
// out are rows of a fixed random order, as rows are often sorted; the last ones if
// shuffle is false.
type arrays struct {
	examples
	list []*arrayFile // for each field
}

func openArrays(opts []Option, b Batch) (Source, error) {
	o := &options{list: opts}
	scale := o.float("scale", 1, -1e30, 1e30)
	share, given := o.float("valid", 0.05, 0, 0.9), o.has("valid")
	s := &arrays{examples: examples{kind: "arrays", batch: b.Size, shuffle: o.oneOf("shuffle", "true", "false") == "true", seed: o.seed(b.Seed)}}
	names := arrayFields(opts)
	paths, ranges := map[string]string{}, map[string]numberRange{}
	for _, n := range names {
		paths[n] = o.str(n+fileKey, "")
		ranges[n] = numberRange{name: n, least: o.integer(n+"_least", math.MinInt32, math.MinInt32, math.MaxInt32), below: o.integer(n+"_below", math.MaxInt32, 1, math.MaxInt32)}
	}
	if err := o.done(); err != nil {
		return nil, err
	}
	if len(b.Fields) > 0 {
		names = names[:0]
		for _, f := range b.Fields {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return nil, errorf("no files are given")
	}
	for i, name := range names {
		if paths[name] == "" {
			return nil, errorf("there is no file for the field %q: give %s%s", name, name, fileKey)
		}
		a, err := openArray(paths[name], b.Vars)
		if err != nil {
			return nil, err
		}
		f := a.field(name, b.Size, scale)
		if len(b.Fields) > 0 {
			f = b.Fields[i]
		}
		if err := a.fits(f, b.Size, scale); err != nil {
			return nil, &Error{Path: a.name, Msg: err.Error()}
		}
		if f.DType == I32 {
			a.within = ranges[name]
		}
		s.fields, s.list = append(s.fields, f), append(s.list, a)
	}
	return s, s.split(share, given)
}

// arrayFields are the names of the fields that have files, in the order of the options.
func arrayFields(opts []Option) (names []string) {
	for _, o := range opts {
		if n, ok := strings.CutSuffix(o.Key, fileKey); ok && n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// split holds rows out.
func (s *arrays) split(share float64, given bool) error {
	n := s.list[0].shape[0]
	for i, a := range s.list {
		if a.shape[0] != n {
			return errorf("%s has %d rows for the field %s, and %s has %d for %s", a.name, a.shape[0], s.fields[i].Name, s.list[0].name, n, s.fields[0].Name)
		}
	}
	held := int64(math.Round(share * float64(n)))
	if n-held < 1 {
		return errorf("there are %d rows, of which %d are held out", n, held)
	}
	if given && share > 0 && held == 0 {
		return errorf("valid = %g holds out none of %d rows", share, n)
	}
	s.holdOut(&arrayRows{s.list, s.fields}, held)
	s.about = fmt.Sprintf("arrays: %s of %s, %d for validation", units.Count(n, "row"), fieldList(s.fields), held)
	s.facts = []Fact{{"shuffle", fmt.Sprint(s.shuffle)}, {"share held out", fmt.Sprint(share)}, {"rows", fmt.Sprint(n)}}
	h := sha256.New()
	fmt.Fprintf(h, "arrays 1 shuffle=%t valid=%g\n", s.shuffle, share)
	for i, a := range s.list {
		fmt.Fprintf(h, "%s %s %v %g\n", s.fields[i].Name, a.kind.name, a.shape, a.scale)
		s.facts = append(s.facts, Fact{"field " + s.fields[i].Name, fmt.Sprintf("%s%v × %g", a.kind.name, a.shape[1:], a.scale)})
		if err := hashSamples(h, a.shape[0]*int64(a.row)*int64(a.kind.bytes), a.readAt); err != nil {
			return err
		}
	}
	s.print = fmt.Sprintf("sha256:%x", h.Sum(nil))
	return nil
}

// arrayRows are all rows.
type arrayRows struct {
	list   []*arrayFile
	fields []Field
}

func (r *arrayRows) count() int64 { return r.list[0].shape[0] }

func (r *arrayRows) read(field int, n int64, b box, i32 []int32, f32 []float32) error {
	if b.rowEmpty() {
		return nil
	}
	f, a := &r.fields[field], r.list[field]
	// The axes from the run on are whole, but for the first of them: their elements
	// lie together.
	run := len(f.Shape) - 1
	for run > 1 && b.lo[run] == 0 && b.hi[run] == f.Shape[run] {
		run--
	}
	length := 1
	for i := max(run, 1); i < len(f.Shape); i++ {
		length *= b.hi[i] - b.lo[i]
	}
	outer := b
	outer.rank = max(run, 1)
	for idx, at := b.first(), 0; ; at += length {
		if err := a.elements(n*int64(a.row)+int64(f.flat(&idx)), at, length, i32, f32); err != nil {
			return err
		}
		if !outer.next(&idx) {
			return nil
		}
	}
}

// openArray opens what an option names.
func openArray(path string, vars []Option) (*arrayFile, error) {
	tensor := ""
	if at := strings.LastIndex(path, ".safetensors:"); at >= 0 {
		path, tensor = path[:at+len(".safetensors")], path[at+len(".safetensors:"):]
	}
	files, err := findFiles([]string{path}, nil, vars)
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, &Error{Path: path, Msg: fmt.Sprintf("an array needs one file, but %d match", len(files))}
	}
	if filepath.Ext(files[0].path) == ".safetensors" {
		return tensorFile(files[0], tensor)
	}
	return npyArray(files[0])
}
