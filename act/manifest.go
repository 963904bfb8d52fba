package act

// Manifest bounds what an allowed act may use: A2G's capability manifest, with
// what the protocol's policy message names beside it. The zero value allows nothing.
type Manifest struct {
	MaxMemoryMB    int  `json:"max_memory_mb"`   // of all its processes together
	MaxCPUPercent  int  `json:"max_cpu_percent"` // of one CPU, so that 200 is two
	TimeoutSeconds int  `json:"timeout_seconds"` // for the whole process tree
	NetworkAllowed bool `json:"network_allowed"`
	// FilesystemScope lists what may be read and written: absolute paths, or
	// globs such as /workspace/**. FilesystemRead lists what may only be read.
	FilesystemScope []string `json:"filesystem_scope"`
	FilesystemRead  []string `json:"filesystem_read,omitempty"`
	// MaxWriteMB and MaxWriteFiles bound how much more there may be in what
	// FilesystemScope names than when the act began. 0 is the sandbox's own bound.
	MaxWriteMB    int `json:"max_write_mb,omitzero"`
	MaxWriteFiles int `json:"max_write_files,omitzero"`
	// AllowedDomains are the only hosts that may be reached, BlockedDomains
	// those that may not, as names or as globs such as *.example.com. When no
	// domain is allowed by name, NetworkAllowed alone decides.
	AllowedDomains []string `json:"allowed_domains,omitempty"`
	BlockedDomains []string `json:"blocked_domains,omitempty"`
	// BlockedPatterns are texts that no argument may hold.
	BlockedPatterns []string `json:"blocked_patterns,omitempty"`
	// Advisory names the limits, as they are written in JSON, that are said but
	// need not be enforced. Every other limit is enforced or the act is denied.
	Advisory []string `json:"advisory,omitempty"`
}
