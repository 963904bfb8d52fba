package server

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

// pageTemplate escapes every value by where it stands.
var pageTemplate = template.Must(template.New("page").Parse(pageText))

// pagePolicy lets the page's one style sheet apply and nothing else happen.
var pagePolicy = func() string {
	_, rest, _ := strings.Cut(pageText, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// page is what a browser gets at /: what reeve is, how it is, and what to try.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	data := struct {
		Version     string
		Uptime      time.Duration
		URL         string
		Credentials bool
		Status
	}{URL: "http://" + r.Host + "/", Version: s.cfg.Version, Uptime: time.Since(s.started).Round(time.Second), Credentials: !s.cfg.Auth.Anonymous()}
	if s.cert != nil {
		data.URL = "https://" + r.Host + "/"
	}
	if s.cfg.Status != nil {
		data.Status = s.cfg.Status()
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, data); err != nil {
		s.logger.Error("the page at / cannot be written", "error", err)
		fail(w, http.StatusInternalServerError, "The page could not be written.")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Write(b.Bytes())
}
