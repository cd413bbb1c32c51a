package data

import "sort"

// segment is a range of the tokens of a file.
type segment struct {
	store    *store
	from, to int64
}

// segments are ranges of files, one behind another, as one sequence.
type segments struct {
	list []segment
	ends []int64 // of each, in the sequence
	// separator is a token that ends a document; -1: files say where documents
	// begin, and each file is one at least.
	separator int32
}

func joinSegments(list []segment, separator int32) *segments {
	s := &segments{separator: separator}
	end := int64(0)
	for _, g := range list {
		if g.to > g.from {
			end += g.to - g.from
			s.list, s.ends = append(s.list, g), append(s.ends, end)
		}
	}
	return s
}

func (s *segments) len() int64 {
	if len(s.ends) == 0 {
		return 0
	}
	return s.ends[len(s.ends)-1]
}

// find gives the segment that has the token at pos, and its place there.
func (s *segments) find(pos int64) (i int, at int64) {
	i = sort.Search(len(s.ends), func(i int) bool { return s.ends[i] > pos })
	return i, pos - s.begin(i)
}

func (s *segments) begin(i int) int64 {
	if i == 0 {
		return 0
	}
	return s.ends[i-1]
}

func (s *segments) copyTo(dst []int32, pos int64) error {
	for len(dst) > 0 {
		i, at := s.find(pos)
		n := min(int64(len(dst)), s.ends[i]-pos)
		if err := s.list[i].store.copyTo(dst[:n], s.list[i].from+at); err != nil {
			return err
		}
		dst, pos = dst[n:], pos+n
	}
	return nil
}

// starts is documents'.
func (s *segments) starts(dst []bool, pos int64) error {
	if s.separator >= 0 {
		return s.startsBehind(dst, pos)
	}
	clear(dst)
	for i := sort.Search(len(s.ends), func(i int) bool { return s.ends[i] > pos }); i < len(s.list) && s.begin(i) < pos+int64(len(dst)); i++ {
		g, shift := s.list[i], s.begin(i)-s.list[i].from // from a place in the file to one in the sequence
		lo, hi := max(pos, s.begin(i)), min(pos+int64(len(dst)), s.ends[i])
		if lo == s.begin(i) {
			dst[lo-pos] = true
		}
		docs := g.store.docs
		for k := sort.Search(len(docs), func(k int) bool { return docs[k]+shift >= lo }); k < len(docs) && docs[k]+shift < hi; k++ {
			dst[docs[k]+shift-pos] = true
		}
	}
	return nil
}

// startsBehind says that a document begins behind each separator.
func (s *segments) startsBehind(dst []bool, pos int64) error {
	if len(dst) == 0 {
		return nil
	}
	first := pos == 0
	before := make([]int32, len(dst))
	if first {
		dst[0] = true
		if err := s.copyTo(before[1:], 0); err != nil {
			return err
		}
	} else if err := s.copyTo(before, pos-1); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = before[i] == s.separator && !(first && i == 0) || first && i == 0
	}
	return nil
}

// mask is prompts'.
func (s *segments) mask(dst []int32, pos int64) {
	end := pos + int64(len(dst))
	for i := sort.Search(len(s.ends), func(i int) bool { return s.ends[i] > pos }); i < len(s.list) && s.begin(i) < end; i++ {
		g, shift := s.list[i], s.begin(i)-s.list[i].from
		lo, hi := max(pos, s.begin(i)), min(end, s.ends[i])
		ranges := g.store.prompts
		for k := sort.Search(len(ranges), func(k int) bool { return ranges[k].to+shift > lo }); k < len(ranges) && ranges[k].from+shift < hi; k++ {
			for at := max(lo, ranges[k].from+shift); at < min(hi, ranges[k].to+shift); at++ {
				dst[at-pos] = notATarget
			}
		}
	}
}
