package bom

import (
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"strconv"
)

// The elements of a SWID tag (ISO/IEC 19770-2:2015) that bills have. SWID knows no tools and
// no models, so each component is a resource of the payload, and what SWID has no attribute
// for stands in the namespace of reeve.
type swidIdentity struct {
	XMLName  xml.Name `xml:"http://standards.iso.org/iso/19770/-2/2015/schema.xsd SoftwareIdentity"`
	Reeve    string   `xml:"xmlns:reeve,attr"`
	Name     string   `xml:"name,attr"`
	TagID    string   `xml:"tagId,attr"`
	TagV     string   `xml:"tagVersion,attr"`
	Version  string   `xml:"version,attr,omitempty"`
	Scheme   string   `xml:"versionScheme,attr"`
	Entities []swidEntity
	Meta     swidMeta
	Payload  *swidPayload
}

type swidEntity struct {
	XMLName xml.Name `xml:"Entity"`
	Name    string   `xml:"name,attr"`
	Role    string   `xml:"role,attr"`
}

type swidMeta struct {
	XMLName    xml.Name   `xml:"Meta"`
	Attributes []xml.Attr `xml:",any,attr"`
}

type swidPayload struct {
	XMLName   xml.Name `xml:"Payload"`
	Resources []swidResource
}

type swidResource struct {
	XMLName    xml.Name   `xml:"Resource"`
	Type       string     `xml:"type,attr"`
	Attributes []xml.Attr `xml:",any,attr"`
}

const swidNamespace = "urn:reeve:bom"

func swidAttr(name, value string) xml.Attr {
	return xml.Attr{Name: xml.Name{Local: "reeve:" + name}, Value: value}
}

// swid writes the bill as a SWID tag.
func (b *Bill) swid(parts []*part, p *Proof) ([]byte, error) {
	self := b.part(&b.Self)
	said := b.attested(p)
	doc := swidIdentity{
		Reeve: swidNamespace, Name: cmp.Or(self.title, self.name), TagID: b.Serial, TagV: strconv.Itoa(b.Version()), Version: self.version, Scheme: "unknown",
		Entities: []swidEntity{{Name: "the reeve node of the log " + p.Log, Role: "tagCreator"}},
		Meta: swidMeta{Attributes: []xml.Attr{
			swidAttr("created", p.created()), swidAttr("log", said.Log), swidAttr("key", said.Key), swidAttr("policy", said.Policy),
			swidAttr("predicate", said.Predicate), swidAttr("checkpoint", base64.StdEncoding.EncodeToString(p.Checkpoint)),
		}},
	}
	if self.supplier != "" {
		doc.Entities = append(doc.Entities, swidEntity{Name: self.supplier, Role: "softwareCreator"})
	}
	doc.Meta.Attributes = append(doc.Meta.Attributes, swidAttributes(self)...)
	for _, one := range parts {
		if doc.Payload == nil {
			doc.Payload = &swidPayload{}
		}
		r := swidResource{Type: string(one.Type), Attributes: []xml.Attr{swidAttr("name", one.name)}}
		for _, a := range []xml.Attr{swidAttr("version", one.version), swidAttr("supplier", one.supplier)} {
			if a.Value != "" {
				r.Attributes = append(r.Attributes, a)
			}
		}
		if one.whole && one.hash != "" {
			r.Attributes = append(r.Attributes, swidAttr("sha256", one.hash))
		}
		r.Attributes = append(r.Attributes, swidAttributes(one)...)
		doc.Payload.Resources = append(doc.Payload.Resources, r)
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

// swidAttributes are a part's properties: each name once, as XML wants it.
func swidAttributes(p *part) (list []xml.Attr) {
	names := map[string]int{}
	for _, one := range p.properties {
		name := []byte(one[0])
		for i := range name {
			if name[i] == ':' {
				name[i] = '-'
			}
		}
		if names[string(name)]++; names[string(name)] > 1 {
			name = strconv.AppendInt(append(name, '-'), int64(names[string(name)]), 10)
		}
		if string(name) != "type" {
			list = append(list, swidAttr(string(name), one[1]))
		}
	}
	return list
}
