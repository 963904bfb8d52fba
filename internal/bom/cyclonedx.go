package bom

import (
	"cmp"
	"encoding/base64"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The members of CycloneDX that bills have, in versions 1.6 and 1.7.
type cdxBOM struct {
	Schema       string           `json:"$schema"`
	Format       string           `json:"bomFormat"`
	SpecVersion  string           `json:"specVersion"`
	Serial       string           `json:"serialNumber"`
	Version      int              `json:"version"`
	Metadata     cdxMetadata      `json:"metadata"`
	Components   []*cdxComponent  `json:"components,omitempty"`
	Services     []*cdxService    `json:"services,omitempty"`
	Dependencies []*cdxDependency `json:"dependencies"`
	Declarations *cdxDeclarations `json:"declarations"`
	Definitions  *cdxDefinitions  `json:"definitions,omitzero"`
}

type cdxMetadata struct {
	Timestamp string        `json:"timestamp"`
	Lifecycle []cdxPhase    `json:"lifecycles"`
	Tools     cdxTools      `json:"tools"`
	Component *cdxComponent `json:"component"`
}

type cdxPhase struct {
	Phase string `json:"phase"`
}

type cdxTools struct {
	Components []*cdxComponent `json:"components"`
}

type cdxComponent struct {
	Type       string        `json:"type"`
	Ref        string        `json:"bom-ref,omitzero"`
	Supplier   *cdxNamed     `json:"supplier,omitzero"`
	Name       string        `json:"name"`
	Version    string        `json:"version,omitzero"`
	Hashes     []cdxHash     `json:"hashes,omitempty"`
	Data       []cdxData     `json:"data,omitempty"`
	Properties []cdxProperty `json:"properties,omitempty"`
}

type cdxService struct {
	Ref        string        `json:"bom-ref"`
	Provider   *cdxNamed     `json:"provider,omitzero"`
	Name       string        `json:"name"`
	Version    string        `json:"version,omitzero"`
	Properties []cdxProperty `json:"properties,omitempty"`
}

type cdxNamed struct {
	Name string `json:"name"`
}

type cdxHash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type cdxData struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

type cdxProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type cdxDependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

type cdxDeclarations struct {
	Assessors    []cdxAssessor    `json:"assessors"`
	Attestations []cdxAttestation `json:"attestations"`
	Claims       []cdxClaim       `json:"claims"`
	Evidence     []cdxEvidence    `json:"evidence"`
}

type cdxAssessor struct {
	Ref          string   `json:"bom-ref"`
	ThirdParty   bool     `json:"thirdParty"`
	Organization cdxNamed `json:"organization"`
}

type cdxAttestation struct {
	Summary  string   `json:"summary"`
	Assessor string   `json:"assessor"`
	Map      []cdxMap `json:"map"`
}

type cdxMap struct {
	Requirement string   `json:"requirement,omitzero"`
	Claims      []string `json:"claims"`
}

type cdxClaim struct {
	Ref       string   `json:"bom-ref"`
	Target    string   `json:"target"`
	Predicate string   `json:"predicate"`
	Evidence  []string `json:"evidence"`
}

type cdxEvidence struct {
	Ref         string     `json:"bom-ref"`
	Property    string     `json:"propertyName"`
	Description string     `json:"description"`
	Data        []cdxProof `json:"data"`
	Created     string     `json:"created"`
}

type cdxProof struct {
	Name     string      `json:"name"`
	Contents cdxContents `json:"contents"`
}

type cdxContents struct {
	Attachment cdxAttachment `json:"attachment"`
}

type cdxAttachment struct {
	ContentType string `json:"contentType"`
	Encoding    string `json:"encoding"`
	Content     string `json:"content"`
}

type cdxDefinitions struct {
	Standards []cdxStandard `json:"standards"`
}

type cdxStandard struct {
	Ref          string           `json:"bom-ref"`
	Name         string           `json:"name"`
	Version      string           `json:"version"`
	Requirements []cdxRequirement `json:"requirements"`
}

type cdxRequirement struct {
	Ref        string `json:"bom-ref"`
	Identifier string `json:"identifier"`
	Title      string `json:"title"`
}

// The names by which the document refers to its own parts.
const (
	refAgent       = "agent"
	refNode        = "reeve-node"
	refClaim       = "claim-governed"
	refCheckpoint  = "evidence-checkpoint"
	refPolicy      = "policy"
	refRequirement = "policy-decides"
)

func properties(p *part) (list []cdxProperty) {
	for _, one := range p.properties {
		list = append(list, cdxProperty{"reeve:" + one[0], one[1]})
	}
	return list
}

func namedOrNil(name string) *cdxNamed {
	if name == "" {
		return nil
	}
	return &cdxNamed{name}
}

// cyclonedx writes the bill as CycloneDX. Servers and peers are services, and what no type
// of CycloneDX names is an application.
func (b *Bill) cyclonedx(version string, parts []*part, p *Proof) ([]byte, error) {
	self := b.part(&b.Self)
	doc := cdxBOM{
		Schema: "http://cyclonedx.org/schema/bom-" + version + ".schema.json", Format: "CycloneDX", SpecVersion: version,
		Serial: "urn:uuid:" + b.Serial, Version: b.Version(),
		Metadata: cdxMetadata{
			Timestamp: p.created(), Lifecycle: []cdxPhase{{"operations"}},
			Tools: cdxTools{[]*cdxComponent{{Type: "application", Name: "reeve", Version: p.Version}}},
			Component: &cdxComponent{
				Type: "application", Ref: refAgent, Supplier: namedOrNil(self.supplier), Name: cmp.Or(self.title, self.name), Version: self.version, Properties: properties(self),
			},
		},
	}
	uses := &cdxDependency{Ref: refAgent}
	doc.Dependencies = []*cdxDependency{uses}
	servers := map[string]*cdxDependency{}
	for _, one := range parts {
		uses.DependsOn = append(uses.DependsOn, one.ref)
		own := &cdxDependency{Ref: one.ref}
		doc.Dependencies = append(doc.Dependencies, own)
		if one.Type == MCPServer {
			servers[one.Name] = own
		}
		if one.Type == MCPServer || one.Type == Peer {
			doc.Services = append(doc.Services, &cdxService{Ref: one.ref, Provider: namedOrNil(one.supplier), Name: one.name, Version: one.version, Properties: properties(one)})
			continue
		}
		c := &cdxComponent{Type: "application", Ref: one.ref, Supplier: namedOrNil(one.supplier), Name: one.name, Version: one.version, Properties: properties(one)}
		switch one.Type {
		case Model:
			c.Type = "machine-learning-model"
		case Knowledge, Memory:
			c.Type, c.Data = "data", []cdxData{{"dataset", one.name}}
		case Skill, Instructions, Settings:
			c.Type = "file"
		}
		if one.whole && one.hash != "" {
			c.Hashes = []cdxHash{{"SHA-256", one.hash}}
		}
		doc.Components = append(doc.Components, c)
	}
	for _, one := range parts {
		if server := servers[one.Server]; one.Type == Tool && server != nil {
			server.DependsOn = append(server.DependsOn, one.ref)
		}
	}
	doc.Declarations = &cdxDeclarations{
		Assessors: []cdxAssessor{{refNode, false, cdxNamed{"the reeve node of the log " + p.Log}}},
		Claims:    []cdxClaim{{refClaim, refAgent, b.predicate(p), []string{refCheckpoint}}},
		Evidence: []cdxEvidence{{
			Ref: refCheckpoint, Property: "reeve:checkpoint", Description: "The newest checkpoint of the log, as C2SP tlog-checkpoint. Its key is " + p.Key, Created: p.created(),
			Data: []cdxProof{{"checkpoint", cdxContents{cdxAttachment{"text/plain; charset=utf-8", "base64", base64.StdEncoding.EncodeToString(p.Checkpoint)}}}},
		}},
		Attestations: []cdxAttestation{{Summary: "Governed by reeve", Assessor: refNode, Map: []cdxMap{{Claims: []string{refClaim}}}}},
	}
	if len(b.Policies) > 0 {
		doc.Declarations.Attestations[0].Map[0].Requirement = refRequirement
		hash := b.part(&Component{Forms: b.Policies}).hash
		doc.Definitions = &cdxDefinitions{[]cdxStandard{{
			Ref: refPolicy, Name: "the policy of the node", Version: hash,
			Requirements: []cdxRequirement{{refRequirement, hash, "Acts of the agent are decided by this policy before they happen"}},
		}}}
	}
	return indented(doc)
}

// indented writes a document with line breaks, for people and their tools.
func indented(doc any) ([]byte, error) {
	return json.Marshal(doc, jsontext.WithIndent("  "), json.Deterministic(true))
}
