package hazard

import (
	"path"
	"slices"
	"strings"
)

// Some programs fetch another by its name and run it at once: npx, uvx, go run PATH@VERSION. Who named it counts, as
// of an address: where only foreign text did, its writer may have put it there for that.

// maxFetchedRun is how many such names of one call are told.
const maxFetchedRun = 8

// fetchesProgram notes the package that a command fetches and runs, unless it lies in the project or everybody
// knows it.
func (c *invocation) fetchesProgram() {
	for _, name := range c.packagesRun() {
		bare := packageName(name)
		if bare == "" || c.everybodysPackage(bare) || c.installed(bare) || slices.Contains(c.fetchedRun, bare) || len(c.fetchedRun) >= maxFetchedRun {
			continue
		}
		c.fetchedRun = append(c.fetchedRun, bare)
	}
}

// packagesRun are the packages that a command names to be fetched and run, with their versions.
func (c *invocation) packagesRun() []string {
	words := c.args
	skip := func(verbs string) bool {
		if len(words) > 0 && listed(verbs, words[0].text) {
			words = words[1:]
			return true
		}
		return false
	}
	told := ""
	switch c.name {
	case "npx", "bunx", "pnpx":
		told = "-p --package"
	case "npm":
		if !skip("exec x") {
			return nil
		}
		told = "-p --package"
	case "pnpm", "yarn":
		if !skip("dlx") {
			return nil
		}
		told = "-p --package"
	case "bun":
		if !skip("x") {
			return nil
		}
	case "uvx":
		told = "--from --with -w"
	case "uv":
		if skip("tool") && !skip("run") {
			return nil
		}
		told = "--from --with -w"
		if skip("run") { // a program of the project, with packages
			return c.optionValues("--with")
		}
	case "pipx":
		if !skip("run") {
			return nil
		}
		told = "--spec"
	case "go":
		if skip("run") && len(words) > 0 && strings.Contains(words[0].text, "@") {
			return []string{words[0].text}
		}
		return nil
	case "deno":
		skip("run x")
		for _, w := range words {
			if strings.HasPrefix(w.text, "npm:") || strings.HasPrefix(w.text, "jsr:") {
				return []string{w.text[4:]}
			}
		}
		return nil
	default:
		return nil
	}
	names := c.optionValues(told)
	for i, w := range words {
		if strings.HasPrefix(w.text, "-") || i > 0 && listed(told+" --python --index-url --cache -c --call", words[i-1].text) {
			continue
		}
		return append(names, w.text)
	}
	return names
}

// packageName is a package without its version; empty for what is a path or an address, which are judged as those.
func packageName(name string) string {
	if isURL(name) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") || strings.ContainsAny(name, " $*") {
		return ""
	}
	if at := strings.LastIndexAny(name, "@"); at > 0 {
		name = name[:at]
	}
	name, _, _ = strings.Cut(name, "==")
	name, _, _ = strings.Cut(name, "[")
	return name
}

// everybodysPackage reports whether a package is a program that the tables know, or its scope one of those whose
// tools people take.
func (c *invocation) everybodysPackage(name string) bool {
	if scope, _, scoped := strings.Cut(strings.TrimPrefix(name, "@"), "/"); scoped && strings.HasPrefix(name, "@") {
		scope = strings.ToLower(scope)
		return c.table.makers["github.com/"+scope] || usualScopes[scope]
	}
	base := strings.ToLower(path.Base(name))
	return programs()[base] || usualPackages[base] || packageRunners[base] || programs()[strings.TrimSuffix(strings.TrimPrefix(base, "create-"), "-app")]
}

// usualPackages are further programs of packages that people run by fetching them.
var usualPackages = set(`shadcn shadcn-ui degit tiged giget serve http-server live-server concurrently wait-on npm-check-updates npm-check depcheck knip madge nuxi sv svelte-migrate expo eas-cli react-native create-expo-app
	playwright cypress storybook sb husky lint-staged changeset changesets lighthouse pa11y license-checker jscodeshift codemod tsc tsx ts-node typescript eslint prettier stylelint sort-package-json syncpack rimraf cross-env dotenv-cli
	prisma drizzle-kit supabase firebase-tools vercel netlify-cli wrangler serverless cdk aws-cdk sst ampx turbo nx lerna cowsay json-server msw openapi-typescript graphql-codegen orval quicktype mjml tailwindcss postcss sass esbuild rollup parcel webpack
	allure artillery autocannon clinic 0x source-map-explorer size-limit bundlesize commitlint semantic-release standard-version release-it np ng vue create-react-app create-next-app vsce ovsx web-ext node-gyp patch-package markdownlint-cli markdownlint-cli2 cspell alex
	ruff black isort mypy pyright pytest tox nox pre-commit cookiecutter copier mkdocs sphinx jupyter jupyterlab marimo pip-audit bandit semgrep httpie yt-dlp ansible ansible-lint poetry hatch twine build pdm django-admin django streamlit gradio datasette sqlfluff codespell commitizen bump2version vulture pyupgrade pip-tools
	golangci-lint gopls goimports staticcheck govulncheck gotestsum mockgen stringer buf air migrate sqlc templ wire dlv benchstat deadcode gofumpt`)

// usualScopes are names under which npm has the packages of makers whom everybody knows.
var usualScopes = set(`playwright angular angular-devkit nestjs vue vitejs babel types storybook expo react-native-community react-native ionic capacitor nuxt sveltejs tailwindcss prisma supabase redwoodjs graphql-codegen openapitools changesets commitlint
	biomejs antfu tanstack modelcontextprotocol anthropic-ai openai google google-cloud aws-amplify aws-cdk aws-sdk azure microsoft sentry cloudflare shopify wordpress hey-api stoplight redocly asyncapi mermaid-js marp-team slidev docusaurus astrojs 11ty
	remix-run vercel netlify vscode electron-forge electron tauri-apps swc rollup oclif nx nrwl stryker-mutator wdio cucumber apollo medusajs strapi directus payloadcms sanity contentful feathersjs loopback adonisjs svgr iconify fontsource mui radix-ui
	shadcn hono trpc clerk auth0 stripe salesforce heroku-cli hubspot slack linear figma datadog newrelic grafana elastic mongodb-js neondatabase planetscale turso libsql drizzle-team mikro-orm typeorm sequelize reduxjs eslint typescript-eslint pnpm yarnpkg
	typespec bufbuild connectrpc protobuf-ts grpc solidjs qwik.dev builder.io lit web modern-js rspack rsbuild umijs ant-design vant arco-design`)

// FromHere reports whether a tool, by its name, gives what lies on this machine: files, or what a command prints.
func FromHere(tool string) bool {
	all := words(strings.ToLower(tool))
	return anyOf(all, hereTools) && !anyOf(all, readsAway)
}

var (
	hereTools = set("read bash shell grep glob ls cat file files edit write terminal exec command run powershell execute")
	readsAway = set("mcp web fetch url http https browser browse")
)

// installed reports whether a program of that name lies in the project, which is run then.
func (c *invocation) installed(name string) bool {
	if c.missing == nil {
		return false
	}
	bin := "node_modules/.bin/" + path.Base(name)
	if lies := c.from(bin); lies != "" {
		bin = lies
	}
	return !c.missing(bin)
}
