# One line each: what it does is in the program it calls.

run: ; CGO_ENABLED=0 go build -o bin/ ./cmd/... && ./bin/reeve serve                    # a node on http://127.0.0.1:8080
demo: ; CGO_ENABLED=0 go build -o bin/ ./cmd/... && ./bin/reeve demo                    # an agent held to a policy
test: ; scripts/test-needs && go test -timeout 30m ./...                                       # every test; installs what they need
check: ; scripts/test-needs check && scripts/check                                             # formatting, vet, staticcheck, known weaknesses, other systems, a snapshot of a release, race, short fuzzing
bench: ; go run ./bench -opa && go run ./bench -a2a && go test -run '^$$' -bench . ./internal/policy ./internal/session ./internal/risk ./internal/ledger ./internal/engine ./internal/mcp/proxy ./internal/guardian ./internal/replay ./cmd/reeve && go test -count=1 -v -run '^TestConsole(Pages|Live)$$' . | grep -E 'first paint|longest task|^(ok|FAIL|---)' # ratios: see docs/performance.md
fuzz: ; scripts/fuzz 60s                                                                       # every fuzz target, a minute each
soak: ; scripts/test-needs && scripts/soak                                                     # the long forms of tests: 100 kills, 10⁸ comparisons, long fuzzing

.PHONY: run demo test check bench fuzz soak
