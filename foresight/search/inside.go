package search

import "strings"

// Lacks is the first dimension in which a space has not what a layout has, whose path has a word for each dimension; empty if the
// layout is in the space. How blocks are divided among stages is no part of a path.
func Lacks(s *Space, path string) (dimension string) {
	s.prepare()
	words := strings.Split(path, "/")
	at := &Choice{}
	for depth, d := range Dimensions {
		var next *Choice
		for _, x := range s.branches(at) {
			if depth < len(words) && strings.Split(x.Path(), "/")[depth] == words[depth] {
				next = x
				break
			}
		}
		if next == nil {
			return d
		}
		at = next
	}
	return ""
}
