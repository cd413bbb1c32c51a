package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

var (
	rasters = [...]string{"rows", "cols", "groups"}
	packs   = [...]string{"none", "task", "phase"}
	dots    = [...]string{"fma", "pair", "mma", "wgmma"}
)

func (r Raster) String() string  { return name(rasters[:], int(r)) }
func (p Pack) String() string    { return name(packs[:], int(p)) }
func (k DotKind) String() string { return name(dots[:], int(k)) }

// String is the kind, with the tile in parentheses where there is one: fma(6x16x1).
func (d Dot) String() string {
	if d.M == 0 && d.N == 0 && d.K == 0 {
		return d.Kind.String()
	}
	return fmt.Sprintf("%s(%dx%dx%d)", d.Kind, d.M, d.N, d.K)
}

func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "invalid"
}

// field is one part of a schedule's text.
type field struct {
	key string
	get func(s *Schedule) string // empty where it has its zero value
	set func(s *Schedule, v string) error
}

// fields is the text, in its order.
var fields = []field{
	number("rows", 0, func(s *Schedule) *int64 { return &s.Rows }),
	number("cols", 0, func(s *Schedule) *int64 { return &s.Cols }),
	number("over", 0, func(s *Schedule) *int64 { return &s.Over }),
	number("task", 0, func(s *Schedule) *int64 { return &s.Task }),
	number("grid", -1, func(s *Schedule) *int64 { return &s.Grid }),
	word("raster", rasters[:], func(s *Schedule) *Raster { return &s.Raster }),
	number("group", 0, func(s *Schedule) *int64 { return &s.Group }),
	{"dot", func(s *Schedule) string {
		if s.Dot == (Dot{}) {
			return ""
		}
		return s.Dot.String()
	}, func(s *Schedule, v string) (err error) { s.Dot, err = parseDot(v); return err }},
	word("left", packs[:], func(s *Schedule) *Pack { return &s.Left }),
	word("right", packs[:], func(s *Schedule) *Pack { return &s.Right }),
	number("stages", 0, func(s *Schedule) *int64 { return &s.Stages }),
	number("split", 0, func(s *Schedule) *int64 { return &s.Split }),
	number("warps", 0, func(s *Schedule) *int64 { return &s.Warps }),
	number("producers", 0, func(s *Schedule) *int64 { return &s.Producers }),
	number("persistent", 0, func(s *Schedule) *int64 { return &s.Persistent }),
	number("cluster", 0, func(s *Schedule) *int64 { return &s.Cluster }),
}

func number(key string, least int64, at func(*Schedule) *int64) field {
	return field{key, func(s *Schedule) string {
		if *at(s) == 0 {
			return ""
		}
		return strconv.FormatInt(*at(s), 10)
	}, func(s *Schedule, v string) error {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < least {
			return fmt.Errorf("%s is %q; expected a number from %d to 2147483647", key, v, least)
		}
		*at(s) = n
		return nil
	}}
}

func word[T ~uint8](key string, names []string, at func(*Schedule) *T) field {
	return field{key, func(s *Schedule) string {
		if *at(s) == 0 {
			return ""
		}
		return name(names, int(*at(s)))
	}, func(s *Schedule, v string) error {
		i, err := find(key, names, v)
		*at(s) = T(i)
		return err
	}}
}

func find(key string, names []string, v string) (int, error) {
	for i, n := range names {
		if n == v {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s is %q; expected one of %s", key, v, strings.Join(names, ", "))
}

// String is the schedule's fields that are not zero, as key=value: what [Parse] reads.
func (s Schedule) String() string {
	var parts []string
	for _, f := range fields {
		if v := f.get(&s); v != "" {
			parts = append(parts, f.key+"="+v)
		}
	}
	return strings.Join(parts, " ")
}

// MarshalText gives the schedule as a string to JSON.
func (s Schedule) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is [Parse].
func (s *Schedule) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}

// Parse is the inverse of [Schedule.String]. Fields may come in any order, each once.
func Parse(text string) (Schedule, error) {
	var s Schedule
	seen := map[string]bool{}
next:
	for _, part := range strings.Fields(text) {
		key, v, _ := strings.Cut(part, "=")
		if seen[key] {
			return Schedule{}, fmt.Errorf("schedule: %s twice; expected once", key)
		}
		seen[key] = true
		for _, f := range fields {
			if f.key != key {
				continue
			}
			if err := f.set(&s, v); err != nil {
				return Schedule{}, fmt.Errorf("schedule: %w", err)
			}
			continue next
		}
		return Schedule{}, fmt.Errorf("schedule: unknown %q; expected one of %s", key, strings.Join(keys(), ", "))
	}
	return s, nil
}

func keys() []string {
	var out []string
	for _, f := range fields {
		out = append(out, f.key)
	}
	return out
}

func parseDot(v string) (Dot, error) {
	kind, tile, has := strings.Cut(v, "(")
	k, err := find("dot", dots[:], kind)
	d := Dot{Kind: DotKind(k)}
	if err != nil || !has {
		return d, err
	}
	sizes := strings.Split(strings.TrimSuffix(tile, ")"), "x")
	if len(sizes) != 3 || !strings.HasSuffix(tile, ")") {
		return d, fmt.Errorf("dot is %q; expected a tile as in fma(6x16x1)", v)
	}
	for i, at := range []*int64{&d.M, &d.N, &d.K} {
		if *at, err = strconv.ParseInt(sizes[i], 10, 32); err != nil || *at < 0 {
			return d, fmt.Errorf("dot is %q; expected a tile of numbers from 0 to 2147483647", v)
		}
	}
	return d, nil
}
