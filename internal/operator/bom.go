package operator

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/bom"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
)

// StatementHeader is the header with the signed statement about a document that cannot hold
// its own signature, in base64.
const StatementHeader = "Reeve-Statement"

// BOMList is a page of the agents of whom bills of materials are known.
type BOMList struct {
	Bills []BOMLine `json:"bills"`
	// Next is what to ask for with after for the next page; empty on the last.
	Next string `json:"next,omitzero"`
}

// BOMLine is one agent's bill, in short.
type BOMLine struct {
	Agent      string    `json:"agent"`
	Principal  string    `json:"principal"`
	Version    int       `json:"version"`
	Changed    time.Time `json:"changed"`
	Last       time.Time `json:"last"`
	Components int       `json:"components"`
}

// bomPage is how many bills one answer lists.
const bomPage = 200

// bomWithin is how long who asks for a bill waits for it to be brought up to date.
const bomWithin = 5 * time.Second

// readBills brings the bills up to date. What takes longer is read by the node meanwhile.
func (o *API) readBills(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, bomWithin)
	defer cancel()
	if err := o.Bills.Read(within); err != nil && within.Err() == nil {
		return o.failed("the bills of materials were not brought up to date", err)
	}
	return nil
}

func (o *API) listBills(r *http.Request, _ act.Principal, _ Nothing) (BOMList, error) {
	if err := o.readBills(r.Context()); err != nil {
		return BOMList{}, err
	}
	list, next, err := o.Bills.List(r.Context(), r.URL.Query().Get("after"), bomPage)
	if err != nil {
		return BOMList{}, o.failed("the bills of materials were not read", err)
	}
	answer := BOMList{Bills: []BOMLine{}, Next: next}
	for _, b := range list {
		one := BOMLine{Agent: b.Agent, Principal: b.Principal, Version: b.Version(), Last: b.Self.Last(), Components: len(b.Components)}
		if n := len(b.Versions); n > 0 {
			one.Changed = b.Versions[n-1].At
		}
		answer.Bills = append(answer.Bills, one)
	}
	return answer, nil
}

// bill is an agent's bill: of the one that bears the name, and with which credential where
// there are several.
func (o *API) bill(ctx context.Context, agent, principal string) (*bom.Bill, error) {
	if err := o.readBills(ctx); err != nil {
		return nil, err
	}
	list, err := o.Bills.Of(ctx, agent, principal)
	switch {
	case errors.Is(err, bom.ErrNone):
		return nil, problem{http.StatusNotFound, err}
	case err != nil:
		return nil, o.failed("the bill of materials was not read", err)
	case len(list) > 1:
		return nil, problem{http.StatusConflict, errors.New("agents with several credentials bear this name: say which with principal")}
	case list[0].Version() == 0:
		return nil, problem{http.StatusConflict, errors.New("the bill of materials is being made from the ledger: ask again in a minute")}
	}
	return list[0], nil
}

// BOM is an agent's bill of materials, and what changed since a time, as bom.Bill.When reads
// it.
func (o *API) BOM(ctx context.Context, agent, principal, since string) (*bom.Report, error) {
	b, err := o.bill(ctx, agent, principal)
	if err != nil {
		return nil, err
	}
	from, err := b.When(since, o.Guard.Now())
	if err != nil {
		return nil, problem{http.StatusBadRequest, fmt.Errorf("since: %w", err)}
	}
	report := b.Report(from)
	if report.Making, err = o.Bills.Making(ctx); err != nil {
		return nil, o.failed("the bill of materials was not read", err)
	}
	return report, nil
}

// showBill answers with an agent's bill: as JSON of reeve's own, or in a format of others.
func (o *API) showBill(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	format := bom.Format(q.Get("format"))
	if format == "" {
		serve(only(func(r *http.Request, _ act.Principal, _ Nothing) (*bom.Report, error) {
			return o.BOM(r.Context(), r.PathValue("id"), q.Get("principal"), q.Get("since"))
		}, "principal", "since", "format"))(w, r)
		return
	}
	document, statement, err := o.SignedBOM(r.Context(), r.PathValue("id"), q.Get("principal"), format)
	if err != nil {
		serve(func(*http.Request, act.Principal, Nothing) (Nothing, error) { return Nothing{}, err })(w, r)
		return
	}
	w.Header().Set("Content-Type", format.MediaType())
	if statement != nil {
		w.Header().Set(StatementHeader, base64.StdEncoding.EncodeToString(statement))
	}
	w.Write(document)
}

// SignedBOM is an agent's bill in a format, signed by the node, as bom.Bill.Sign has it. That
// it was given out is recorded.
func (o *API) SignedBOM(ctx context.Context, agent, principal string, format bom.Format) (document, statement []byte, err error) {
	if !slices.Contains(bom.Formats, format) {
		return nil, nil, badRequest("there is no format %.40q: choose %s", format, bom.Named())
	}
	b, err := o.bill(ctx, agent, principal)
	if err != nil {
		return nil, nil, err
	}
	by, _ := identity.FromContext(ctx)
	pos, err := o.Guard.Note(ctx, "bom.export", by, map[string]string{
		"agent": b.Agent, "principal": b.Principal, "format": string(format), "serial": b.Serial, "version": fmt.Sprint(b.Version()), "content": b.Versions[len(b.Versions)-1].Digest,
	})
	if err != nil {
		return nil, nil, o.failed("that the bill was given out was not recorded", err)
	}
	head, err := o.Store.Head(ctx, o.Log.Number())
	if err != nil {
		return nil, nil, o.failed("the log's head was not read", err)
	}
	cp, err := ledger.ParseCheckpoint(head.Checkpoint)
	if err != nil {
		return nil, nil, o.failed("the log's checkpoint was not read", err)
	}
	document, statement, err = b.Sign(format, &bom.Proof{Log: cp.Origin, Key: o.Log.VerifierKey(), Record: pos.String(), Checkpoint: head.Checkpoint, Version: o.Version, Now: o.Guard.Now()}, o.Log)
	if err != nil {
		return nil, nil, o.failed("the bill was not signed", err)
	}
	return document, statement, nil
}

// Document reads an agent's bill in a format, and the statement about it; nil where there is
// none.
func (c *Client) Document(ctx context.Context, path string) (document, statement []byte, err error) {
	answer, err := c.fetch(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, nil, err
	}
	if answer.Code != http.StatusOK {
		return nil, nil, problem{answer.Code, answer.Read(nil)}
	}
	if said := answer.Header.Get(StatementHeader); said != "" {
		if statement, err = base64.StdEncoding.DecodeString(said); err != nil {
			return nil, nil, errors.New("the statement about the bill is damaged")
		}
	}
	return answer.Body, statement, nil
}
