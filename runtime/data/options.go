package data

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// options reads a source's options by key. The first fault is kept and returned
// by done, so that an opener reads all of its keys before it looks.
type options struct {
	list  []Option
	known []string
	err   error
}

func (o *options) fail(format string, args ...any) {
	if o.err == nil {
		o.err = errorf(format, args...)
	}
}

// all gives every value of a key that may repeat.
func (o *options) all(key string) []string {
	o.known = append(o.known, key)
	var vs []string
	for _, opt := range o.list {
		if opt.Key == key {
			vs = append(vs, opt.Value)
		}
	}
	return vs
}

// has says whether the key was given.
func (o *options) has(key string) bool {
	return slices.ContainsFunc(o.list, func(opt Option) bool { return opt.Key == key })
}

func (o *options) str(key, def string) string {
	vs := o.all(key)
	if len(vs) > 1 {
		o.fail("option %s is given %d times", key, len(vs))
	}
	if len(vs) == 0 {
		return def
	}
	return vs[0]
}

// oneOf is an option with few values, the first being the default.
func (o *options) oneOf(key string, values ...string) string {
	v := o.str(key, values[0])
	if !slices.Contains(values, v) {
		o.fail("%s = %q, must be one of %s", key, v, strings.Join(values, ", "))
	}
	return v
}

func (o *options) integer(key string, def, lo, hi int) int {
	v := o.str(key, "")
	if !o.has(key) {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < lo || n > hi {
		o.fail("%s = %q, must be a whole number from %d to %d", key, v, lo, hi)
		return def
	}
	return n
}

func (o *options) seed(def uint64) uint64 {
	v := o.str("seed", "")
	if !o.has("seed") {
		return def
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		o.fail("seed = %q, must be a whole number below 2^64", v)
	}
	return n
}

func (o *options) float(key string, def, lo, hi float64) float64 {
	v := o.str(key, "")
	if !o.has(key) {
		return def
	}
	x, err := strconv.ParseFloat(v, 64)
	if err != nil || !(x >= lo && x <= hi) {
		o.fail("%s = %q, must be a number from %g to %g", key, v, lo, hi)
		return def
	}
	return x
}

// done reports the first fault: of a value, or a key that was never read.
func (o *options) done() error {
	if o.err != nil {
		return o.err
	}
	for _, opt := range o.list {
		if !slices.Contains(o.known, opt.Key) {
			known := slices.DeleteFunc(slices.Clone(o.known), func(k string) bool { return k == "" })
			slices.Sort(known)
			e := errorf("there is no option %q", opt.Key)
			if opt.Key == "" {
				e = errorf("unexpected positional argument %q", opt.Value)
			}
			e.Hint = "known: " + strings.Join(known, ", ")
			return e
		}
	}
	return nil
}

// tokenOptions are the options that all sources of windows of tokens have.
type tokenOptions struct {
	files, exclude  []string
	tokenizer, hash string // the hash is that of the tokenizer's file when the plan was compiled
	window, vocab   int
	valid           float64
	validGiven      bool
	shuffle         bool
	seed            uint64
}

// tokens reads the options that all sources of windows of tokens have. The window may be 0.
func (o *options) tokens(b Batch, tokenizer string) tokenOptions {
	t := tokenOptions{
		files:      append(o.all(""), o.all("files")...),
		exclude:    o.all("exclude"),
		tokenizer:  o.str("tokenizer", tokenizer),
		hash:       o.str("tokenizer_sha256", ""),
		window:     o.integer("window", b.Window, 1, math.MaxInt32),
		valid:      o.float("valid", 0.05, 0, 0.9),
		validGiven: o.has("valid"),
		shuffle:    o.oneOf("shuffle", "true", "false") == "true",
		seed:       o.seed(b.Seed),
		vocab:      o.vocab(b),
	}
	if len(t.files) == 0 {
		o.fail("no files are given")
	}
	return t
}

// sizeUnits are tried in order, so the longer names come first.
var sizeUnits = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// size reads a number of bytes such as 64MiB, 1.5 GB or 4096, at least 1.
func (o *options) size(key string, def int64) int64 {
	v := o.str(key, "")
	if !o.has(key) {
		return def
	}
	n, err := ParseSize(v)
	if err != nil {
		o.fail("%s = %q, must be a size such as 64MiB", key, v)
		return def
	}
	return n
}

// ParseSize reads a number of bytes as the option limit of text has it.
func ParseSize(v string) (int64, error) {
	num, unit := strings.TrimSpace(v), 1.0
	for _, u := range sizeUnits {
		if s, ok := strings.CutSuffix(num, u.suffix); ok {
			num, unit = strings.TrimSpace(s), u.bytes
			break
		}
	}
	x, err := strconv.ParseFloat(num, 64)
	if n := x * unit; err == nil && n >= 1 && n < math.MaxInt64 {
		return int64(n), nil
	}
	return 0, errorf("%q is not a size such as 64MiB", v)
}

// vocab is how many tokens the model has, by its axis vocab and by the option below; 0 where nothing says.
func (o *options) vocab(b Batch) int {
	if n := o.integer("below", math.MaxInt32, 1, math.MaxInt32); n < math.MaxInt32 && (b.Vocab == 0 || n < b.Vocab) {
		return n
	}
	return b.Vocab
}
