package openpath

import "path"

// Match is whether a path of modules and parameters is of a pattern, both by their
// parts: `*` stands for any one part, or inside one for any characters of it, and
// `**` for any number of parts.
func Match(pattern, parts []string) bool {
	i, j := 0, 0
	after, from := -1, 0 // behind the last **, and where the rest of the path began
	for j < len(parts) {
		switch {
		case i < len(pattern) && pattern[i] == "**":
			i++
			after, from = i, j
		case i < len(pattern) && part(pattern[i], parts[j]):
			i, j = i+1, j+1
		case after >= 0:
			from++
			i, j = after, from
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == "**" {
		i++
	}
	return i == len(pattern)
}

func part(pattern, s string) bool {
	if pattern == "*" || pattern == s {
		return true
	}
	ok, err := path.Match(pattern, s)
	return ok && err == nil
}
