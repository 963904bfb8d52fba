package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// ParseOrigins reads the origins of pages that may call from a browser, and returns them as
// browsers write them: https://app.example, with a port that is not the scheme's own. There
// is no pattern, and no word for all: a page that may call has what its user has here.
func ParseOrigins(list []string) (origins []string, err error) {
	for _, text := range list {
		u, err := url.Parse(text)
		switch {
		case text == "*" || strings.Contains(text, "*"):
			return nil, fmt.Errorf("%q: origins are named one by one, and none stands for others", text)
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" ||
			u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#") || strings.HasSuffix(u.Host, ":"):
			return nil, fmt.Errorf("%q is no origin such as https://app.example or http://localhost:3000", text)
		}
		host := strings.ToLower(u.Host)
		if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || r == '%' || r == ',' }) {
			return nil, fmt.Errorf("%q: write the name in ASCII, as browsers do: xn--…", text)
		}
		if port := u.Port(); port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
			host = strings.TrimSuffix(host, ":"+port)
		}
		origins = append(origins, u.Scheme+"://"+host)
	}
	return origins, nil
}

// crossOrigin looks whether a request comes from a page that may call, and says so in the
// answer: browsers show the answer to no other page. It reports whether the request was only
// the browser's question whether the page may, and is answered.
func (s *Server) crossOrigin(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(s.cfg.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin") // also of what is refused: nobody may keep it for another page
	origins := r.Header["Origin"]
	if len(origins) != 1 || !slices.Contains(s.cfg.Origins, origins[0]) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origins[0])
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate")
	// It has been judged here: what comes behind knows own pages only.
	r.Header.Del("Origin")
	r.Header.Del("Sec-Fetch-Site")
	method := r.Header.Get("Access-Control-Request-Method")
	if r.Method != http.MethodOptions || method == "" {
		return false
	}
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
	if asked := r.Header.Get("Access-Control-Request-Headers"); headerNames(asked) {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// headerNames reports whether a text is a list of headers' names, as a browser asks for
// them.
func headerNames(list string) bool {
	const longest = 1000
	return list != "" && len(list) <= longest && !strings.ContainsFunc(list, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_, ", r)
	})
}
