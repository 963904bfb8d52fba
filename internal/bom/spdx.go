package bom

import (
	"cmp"
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json"
)

// spdxContext is the JSON-LD context of SPDX 3.0.1. It is never fetched.
const spdxContext = "https://spdx.org/rdf/3.0.1/spdx-context.jsonld"

// spdxElement is an element of SPDX, as far as bills have it. Names of others stand in it as
// texts only: no member, no @id and no type is made of one.
type spdxElement struct {
	Type         string   `json:"type"`
	ID           string   `json:"spdxId,omitzero"`
	Blank        string   `json:"@id,omitzero"` // of what is no element
	CreationInfo string   `json:"creationInfo,omitzero"`
	Name         string   `json:"name,omitzero"`
	Summary      string   `json:"summary,omitzero"`
	Comment      string   `json:"comment,omitzero"`
	Hashes       []spdxHa `json:"verifiedUsing,omitempty"`

	Created      string   `json:"created,omitzero"`
	CreatedBy    []string `json:"createdBy,omitempty"`
	CreatedUsing []string `json:"createdUsing,omitempty"`
	SpecVersion  string   `json:"specVersion,omitzero"`

	Profiles []string `json:"profileConformance,omitempty"`
	Root     []string `json:"rootElement,omitempty"`
	Elements []string `json:"element,omitempty"`
	SbomType []string `json:"software_sbomType,omitempty"`

	SuppliedBy  string   `json:"suppliedBy,omitzero"`
	Version     string   `json:"software_packageVersion,omitzero"`
	Purpose     string   `json:"software_primaryPurpose,omitzero"`
	DatasetType []string `json:"dataset_datasetType,omitempty"`

	From         string   `json:"from,omitzero"`
	Relationship string   `json:"relationshipType,omitzero"`
	To           []string `json:"to,omitempty"`

	AnnotationType string `json:"annotationType,omitzero"`
	ContentType    string `json:"contentType,omitzero"`
	Statement      string `json:"statement,omitzero"`
	Subject        string `json:"subject,omitzero"`
}

type spdxHa struct {
	Type      string `json:"type"`
	Algorithm string `json:"algorithm"`
	Value     string `json:"hashValue"`
}

// attested is what the node says of the bill, in an annotation of SPDX.
type attested struct {
	Predicate  string `json:"predicate"`
	Log        string `json:"log"`
	Key        string `json:"key"`
	Policy     string `json:"policy,omitzero"`
	Checkpoint string `json:"checkpoint"` // in base64
}

func (b *Bill) attested(p *Proof) attested {
	a := attested{Predicate: b.predicate(p), Log: p.Log, Key: p.Key, Checkpoint: base64.StdEncoding.EncodeToString(p.Checkpoint)}
	if len(b.Policies) > 0 {
		a.Policy = b.Policies[0].Hash
	}
	return a
}

// spdx writes the bill as SPDX 3.0.1, in JSON-LD.
func (b *Bill) spdx(parts []*part, p *Proof) ([]byte, error) {
	id := func(ref string) string { return "urn:uuid:" + b.Serial + "#" + ref }
	const made = "_:creation"
	graph := []*spdxElement{{
		Type: "CreationInfo", Blank: made, Created: p.created(), CreatedBy: []string{id("node")}, CreatedUsing: []string{id("reeve")}, SpecVersion: "3.0.1",
	}, {
		Type: "SoftwareAgent", ID: id("node"), CreationInfo: made, Name: "the reeve node of the log " + p.Log,
	}, {
		Type: "Tool", ID: id("reeve"), CreationInfo: made, Name: strings.TrimSpace("reeve " + p.Version),
	}}
	suppliers := map[string]string{}
	element := func(one *part, ref string) *spdxElement {
		e := &spdxElement{Type: "software_Package", ID: id(ref), CreationInfo: made, Name: one.name, Version: one.version, Purpose: "other"}
		switch one.Type {
		case Self:
			e.Type, e.Purpose, e.Name = "ai_AIPackage", "application", cmp.Or(one.title, one.name)
		case Model:
			e.Type, e.Purpose = "ai_AIPackage", "model"
		case Knowledge, Memory:
			e.Type, e.Purpose, e.DatasetType = "dataset_DatasetPackage", "data", []string{"other"}
		case Tool, Capability, MCPServer, Peer:
			e.Purpose = "application"
		case Instructions, Settings, Skill:
			e.Purpose = "configuration"
		}
		if one.whole && one.hash != "" {
			e.Hashes = []spdxHa{{"Hash", "sha256", one.hash}}
		}
		if one.supplier != "" {
			if suppliers[one.supplier] == "" {
				suppliers[one.supplier] = id("supplier-" + strings.TrimPrefix(b.part(&Component{Type: Peer, Name: one.supplier}).ref, string(Peer)+"-"))
				graph = append(graph, &spdxElement{Type: "Organization", ID: suppliers[one.supplier], CreationInfo: made, Name: one.supplier})
			}
			e.SuppliedBy = suppliers[one.supplier]
		}
		for i, property := range one.properties {
			if i > 0 {
				e.Comment += "\n"
			}
			e.Comment += property[0] + ": " + property[1]
		}
		return e
	}
	agent := element(b.part(&b.Self), refAgent)
	graph = append(graph, agent)
	all := []string{agent.ID}
	uses := &spdxElement{Type: "Relationship", ID: id("uses"), CreationInfo: made, From: agent.ID, Relationship: "usesTool"}
	depends := &spdxElement{Type: "Relationship", ID: id("depends"), CreationInfo: made, From: agent.ID, Relationship: "dependsOn"}
	for _, one := range parts {
		e := element(one, one.ref)
		graph, all = append(graph, e), append(all, e.ID)
		if one.Type == Tool {
			uses.To = append(uses.To, e.ID)
		} else {
			depends.To = append(depends.To, e.ID)
		}
	}
	for _, r := range []*spdxElement{uses, depends} {
		if len(r.To) > 0 {
			graph, all = append(graph, r), append(all, r.ID)
		}
	}
	statement, err := json.Marshal(b.attested(p))
	if err != nil {
		return nil, err
	}
	note := &spdxElement{
		Type: "Annotation", ID: id("attestation"), CreationInfo: made, AnnotationType: "other", ContentType: "application/json", Statement: string(statement), Subject: agent.ID,
	}
	graph, all = append(graph, note), append(all, note.ID)
	sbom := &spdxElement{Type: "software_Sbom", ID: id("sbom"), CreationInfo: made, Name: agent.Name, SbomType: []string{"runtime"}, Root: []string{agent.ID}, Elements: all}
	graph = append(graph, sbom, &spdxElement{
		Type: "SpdxDocument", ID: id("document"), CreationInfo: made, Name: agent.Name,
		Profiles: []string{"core", "software"}, Root: []string{sbom.ID}, Elements: append([]string{sbom.ID}, all...),
	})
	return indented(struct {
		Context string         `json:"@context"`
		Graph   []*spdxElement `json:"@graph"`
	}{spdxContext, graph})
}
