package main

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"ptc/compiler"
)

// The part of SARIF 2.1.0 that diagnostics need ("Static Analysis Results
// Interchange Format", OASIS Standard, 2020), section 3 of which each type is of.
type (
	sarifLog struct { // 3.13
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct { // 3.14
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct { // 3.18
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct { // 3.19
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct { // 3.49
		ID string `json:"id"`
	}
	sarifMessage struct { // 3.11
		Text string `json:"text"`
	}
	sarifResult struct { // 3.27
		RuleID    string          `json:"ruleId,omitempty"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
	}
	sarifLocation struct { // 3.28
		Physical sarifPhysical `json:"physicalLocation"`
		Message  *sarifMessage `json:"message,omitempty"`
	}
	sarifPhysical struct { // 3.29
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct { // 3.4
		URI string `json:"uri"`
	}
	sarifRegion struct { // 3.30; columns count characters from 1, the end is behind the last
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
)

// sarifOf is the document of what one run of ptc found.
func sarifOf(found []told) sarifLog {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "ptc", Version: compiler.Version, Rules: []sarifRule{}}
	known := map[string]bool{}
	for _, x := range found {
		if x.Code != "" && !known[x.Code] {
			known[x.Code] = true
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{x.Code})
		}
		text := x.Message
		if x.Expected != "" {
			text += "; expected " + x.Expected
		}
		if x.Suggestion != "" {
			text += "; " + x.Suggestion
		}
		r := sarifResult{RuleID: x.Code, Level: x.Severity, Message: sarifMessage{text}}
		if x.Line > 0 {
			r.Locations = []sarifLocation{location(x.place, x.text)}
		}
		for _, n := range x.Notes {
			if n.Line > 0 {
				l := location(n.place, n.text)
				l.Message = &sarifMessage{n.Message}
				r.Related = append(r.Related, l)
			}
		}
		run.Results = append(run.Results, r)
	}
	return sarifLog{"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "2.1.0", []sarifRun{run}}
}

// location is a place with columns in characters, as the document declares them.
func location(p place, text string) sarifLocation {
	from, to := characters(text, p.Line, p.Column), characters(text, p.Line, p.EndColumn)
	return sarifLocation{Physical: sarifPhysical{sarifArtifact{uri(p.File)}, sarifRegion{p.Line, from, p.EndLine, max(to, from+1)}}}
}

// uri is a path as a reference of RFC 3986.
func uri(path string) string { return (&url.URL{Path: filepath.ToSlash(path)}).String() }

// characters is a column of a line in characters, given one in bytes.
func characters(text string, line, column int) int {
	at := text
	for range line - 1 {
		_, rest, ok := strings.Cut(at, "\n")
		if !ok {
			return column
		}
		at = rest
	}
	at, _, _ = strings.Cut(at, "\n")
	return 1 + utf8.RuneCountInString(at[:min(column-1, len(at))])
}
