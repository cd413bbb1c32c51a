package sbom

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"ptc/release/build"
)

// Of lists the modules in a binary, with the version of Go.
func Of(b *build.Binary, version string, at time.Time) ([]byte, error) {
	sum := sha256.Sum256(b.Data)
	root := "pkg:golang/ptc@" + version
	list := cdx.NewBOM()
	list.SerialNumber = "urn:uuid:" + uuid(sum)
	list.Metadata = &cdx.Metadata{
		Timestamp: at.UTC().Format(time.RFC3339),
		Component: &cdx.Component{BOMRef: root, Type: cdx.ComponentTypeApplication, Name: "ptc", Version: version, PackageURL: root,
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}}},
	}
	var parts []cdx.Component
	var refs []string
	add := func(name, version, purl, recorded string) {
		c := cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl}
		if recorded != "" { // a hash of the module's files, not of one file, so that it is no hash of CycloneDX's
			c.Properties = &[]cdx.Property{{Name: "go:sum", Value: recorded}}
		}
		parts, refs = append(parts, c), append(refs, purl)
	}
	runtime := strings.TrimPrefix(b.Info.GoVersion, "go")
	add("std", runtime, "pkg:golang/std@"+runtime, "")
	for _, d := range b.Info.Deps {
		if d.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s", d.Path, d.Replace.Path)
		}
		add(d.Path, d.Version, "pkg:golang/"+d.Path+"@"+d.Version, d.Sum)
	}
	list.Components = &parts
	list.Dependencies = &[]cdx.Dependency{{Ref: root, Dependencies: &refs}}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(list, cdx.SpecVersion1_5); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// uuid is a version 8 UUID (RFC 9562, section 5.8): the binary's hash, so that equal
// binaries have equal lists.
func uuid(sum [sha256.Size]byte) string {
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
