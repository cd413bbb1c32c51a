package certify

import (
	"fmt"
	"slices"
	"strings"

	"ptc/foresight/certificate"
	"ptc/foresight/machine"
	"ptc/ir/auto"
)

// room is the bytes of a device that a layout may take: the layout's limit, or what the device has if that is less.
func room(c *machine.Cluster, l *auto.Layout) int64 {
	has := int64(c.Device.Memory.Value) - int64(c.Device.Reserve.Value)
	if l.Memory > 0 && l.Memory < has {
		return l.Memory
	}
	return has
}

// subject checks that a certificate is about what is given.
func (k *checker) subject() error {
	c, g := k.c, k.given
	units := slices.Clone(g.Cluster.Sizes)
	slices.Reverse(units)
	var names []string
	for _, l := range tree {
		names = append(names, l.name)
	}
	switch limit := room(g.Cluster, g.Auto); {
	case c.Version != certificate.Version:
		return fault(Subject, "the certificate has version %d; this ptc knows version %d", c.Version, certificate.Version)
	case c.Ptc != g.Ptc:
		return fault(Subject, "the certificate is of ptc %s; this is %s", c.Ptc, g.Ptc)
	case c.Source != g.Source:
		return fault(Subject, "the certificate is of a source with another SHA-256: %s; that of the source here is %s", c.Source, g.Source)
	case !slices.Equal(c.Imports, g.Imports):
		return Imported(c.Imports, g.Imports)
	case !slices.Equal(c.Config, g.Config):
		return fault(Subject, "the certificate is of another config: %s", another(c.Config, g.Config))
	case c.Layout != g.Auto.Name:
		return fault(Subject, "the certificate is of the layout `%s`; this is `%s`", c.Layout, g.Auto.Name)
	case c.Machine.Name != g.Cluster.Name:
		return fault(Subject, "the certificate is of the machine %s; the layout is for %s", c.Machine.Name, g.Cluster.Name)
	case !slices.Equal(c.Machine.Levels, units):
		return fault(Subject, "the certificate is of a machine with levels of %v units; the layout is for %v", c.Machine.Levels, units)
	case c.Machine.SHA256 != g.Cluster.Hash:
		return fault(Subject, "the certificate is of another machine, whose description has the SHA-256 %s; here it has %s", c.Machine.SHA256, g.Cluster.Hash)
	case c.Memory != limit:
		return fault(Subject, "the certificate lets layouts take %d bytes of a device; the limit is %d", c.Memory, limit)
	case !slices.Equal(c.Objectives, g.Auto.Minimize):
		return fault(Subject, "the certificate minimizes %s; the layout says %s", strings.Join(c.Objectives, ", "), strings.Join(g.Auto.Minimize, ", "))
	case !slices.Equal(c.Dimensions, names):
		return fault(Subject, "the certificate has the dimensions %s; those of a space are %s", strings.Join(c.Dimensions, ", "), strings.Join(names, ", "))
	case c.Slack < 0 || c.Slack > whole:
		return fault(Subject, "slack is %d; it must be from 0 to %d thousandths", c.Slack, whole)
	}
	return nil
}

// Imported is the fault of a certificate whose imports are not the ones given: the first file that differs, or that only one of
// them has. Both are sorted by path. It is nil if they are equal.
func Imported(said, given []certificate.Import) error {
	of := func(path, format string, args ...any) error {
		return &Fault{Check: Subject, Import: path, Text: fmt.Sprintf(format, args...)}
	}
	at := map[string]string{}
	for _, x := range said {
		if _, ok := at[x.Path]; ok {
			return of("", "the certificate has the import `%s` twice", x.Path)
		}
		at[x.Path] = x.SHA256
	}
	for _, x := range given {
		switch sha, ok := at[x.Path]; {
		case !ok:
			return of(x.Path, "the certificate is of a source that does not import `%s`", x.Path)
		case sha != x.SHA256:
			return of(x.Path, "the certificate is of another `%s`, with the SHA-256 %s; the imported file has %s", x.Path, sha, x.SHA256)
		}
		delete(at, x.Path)
	}
	for _, x := range said {
		if _, ok := at[x.Path]; ok {
			return of("", "the certificate is of a source that imports `%s`; the source here does not", x.Path)
		}
	}
	if !slices.Equal(said, given) {
		return of("", "the imports of the certificate are not sorted by path")
	}
	return nil
}

// another says in what a config differs from the one that is given.
func another(said, given [][2]string) string {
	for i := range max(len(said), len(given)) {
		switch {
		case i >= len(said):
			return fmt.Sprintf("it lacks %s", given[i][0])
		case i >= len(given):
			return fmt.Sprintf("it has %s, which the source lacks", said[i][0])
		case said[i][0] != given[i][0]:
			return fmt.Sprintf("it has %s where the source has %s", said[i][0], given[i][0])
		case said[i] != given[i]:
			return fmt.Sprintf("%s is %s; here it is %s", said[i][0], said[i][1], given[i][1])
		}
	}
	panic("they are the same")
}
