package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
)

// The codes of gRPC that refusals have.
const (
	grpcPermissionDenied  = 7
	grpcResourceExhausted = 8
	grpcUnavailable       = 14
	grpcUnauthenticated   = 16

	grpcUnimplemented = "12" // as a header has it
)

const (
	// maxGRPCStreams are the calls at once on a connection of gRPC, whose clients
	// have one connection for all.
	maxGRPCStreams = 1024
	// decoded is by how much more memory a message is counted than its bytes: those
	// of many small values grow by more than that when they are read.
	decoded = 8
	// patience is how long a client may take nothing of what is written to it.
	patience = 30 * time.Second
	// A connection that is silent for so long is asked whether it is there, and
	// ends if it does not answer.
	silence    = time.Minute
	pingAnswer = 20 * time.Second
)

// isGRPC reports whether a request is a call of gRPC.
func isGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// grpcOnly serves the port that gRPC has of its own.
func (s *Server) grpcOnly(w http.ResponseWriter, r *http.Request) {
	w, r, end := s.begin(w, s.placed(r))
	defer end()
	r, x := arrive(r)
	defer x.end()
	if !isGRPC(r) {
		fail(w, http.StatusUnsupportedMediaType, "Only gRPC is spoken on this port.")
		return
	}
	s.remote(w, r, Loopback(s.cfg.GRPCListen))
}

// remote serves a call of gRPC. It has one message, which begins with its length:
// so who is asking, and whether there is room, is known before any of it is read.
func (s *Server) remote(w http.ResponseWriter, r *http.Request, local bool) {
	s.metrics.inFlight.Inc()
	defer s.metrics.inFlight.Dec()
	if reason := s.foreign(r, local); reason != "" {
		s.metrics.Refused("host")
		refuseGRPC(w, grpcPermissionDenied, reason)
		return
	}
	by, err := s.who(r)
	if err != nil {
		refuseGRPC(w, grpcUnauthenticated, s.challenge(w, r, err))
		return
	}
	ctx, h, end := held(identity.NewContext(r.Context(), by.Principal, by.Role), by, nil)
	defer end()
	name := callerName(ctx, by.Principal)
	if refusal := s.connected(ctx, name); refusal != nil {
		s.refuseLimit(w, refusal)
		return
	}
	// While the length is awaited, the call counts as a small body.
	release, refusal := s.limits.reserve(ctx, name, weightOf)
	if refusal != nil {
		s.refuseLimit(w, refusal)
		return
	}
	size, body, err := firstMessage(r.Body)
	release()
	limit := s.cfg.GRPCMaxBody
	switch {
	case err != nil:
		refuseGRPC(w, grpcUnavailable, "The message did not arrive.")
		return
	case size > limit:
		refuseGRPC(w, grpcResourceExhausted, fmt.Sprintf("The message has %d bytes, and %d are allowed.", size, limit))
		return
	}
	release, refusal = s.limits.reserve(ctx, name, max(size, min(size*decoded, callerBodies/2)))
	if refusal != nil {
		s.refuseLimit(w, refusal)
		return
	}
	defer release()
	leave, refusal := s.limits.enter(ctx, name, int(size))
	if refusal != nil {
		s.refuseLimit(w, refusal)
		return
	}
	out := &patientWriter{w, http.NewResponseController(w)}
	out.control.SetWriteDeadline(time.Time{}) // there is one while something is written
	defer h.begin(leave)()
	if err := by.Err(); err != nil { // revoked while the message came
		refuseGRPC(w, grpcUnauthenticated, s.challenge(w, r, err))
		return
	}
	exchangeIn(ctx).await()
	call := r.WithContext(ctx)
	call.Body = body
	s.cfg.GRPC.ServeHTTP(out, call)
	if said := w.Header().Get("Grpc-Status"); said != grpcUnimplemented { // else the method is the caller's own word
		routed(ctx, r.URL.Path)
	}
}

// firstMessage reads how long a call's message is, and returns a body that holds
// nothing else.
func firstMessage(body io.ReadCloser) (size int64, only io.ReadCloser, err error) {
	var prefix [5]byte // a byte of flags, and the length
	n, err := io.ReadFull(body, prefix[:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // there is none, which is for gRPC to say
	} else if err == nil {
		size = int64(binary.BigEndian.Uint32(prefix[1:]))
	}
	return size, struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(prefix[:n]), io.LimitReader(body, size)), body}, err
}

// refuseLimit refuses a call that is over a limit, the caller's or the node's.
func (s *Server) refuseLimit(w http.ResponseWriter, refusal *jsonrpc.Refusal) {
	s.metrics.Refused("limit")
	code := grpcUnavailable
	if refusal.Status == http.StatusTooManyRequests {
		code = grpcResourceExhausted
	}
	w.Header().Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
	refuseGRPC(w, code, refusal.Reason)
}

// refuseGRPC answers a call with its end only, in the headers.
func refuseGRPC(w http.ResponseWriter, code int, reason string) {
	h := w.Header()
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", strconv.Itoa(code))
	message := make([]byte, 0, len(reason))
	for _, c := range []byte(reason) {
		if c < ' ' || c > '~' || c == '%' {
			message = fmt.Appendf(message, "%%%02X", c)
		} else {
			message = append(message, c)
		}
	}
	h.Set("Grpc-Message", string(message))
	w.WriteHeader(http.StatusOK)
}

// patientWriter has a deadline for each time that something is written, and none
// in between: a stream may be silent for long.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *patientWriter) Write(p []byte) (int, error) {
	w.control.SetWriteDeadline(time.Now().Add(patience))
	return w.ResponseWriter.Write(p)
}

// Flush ends what Write began.
func (w *patientWriter) Flush() {
	w.control.SetWriteDeadline(time.Now().Add(patience))
	if w.control.Flush() == nil {
		w.control.SetWriteDeadline(time.Time{})
	}
}
