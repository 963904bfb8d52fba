package hazard

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestWeeks: what engineers' weeks had that asked or was refused without need, and what passed and must not, with
// neighbours of each.
func TestWeeks(t *testing.T) {
	for line, w := range map[string][2]float64{ // at least, and below
		"curl -LsH 'Accept: application/x-bibtex' 'https://doi.org/10.1016/0011-7471(66)90602-4' >> /tmp/munk.bib && cat /tmp/munk.bib": {0, 0.4},
		"curl -H 'X-Command: run' 'https://h.example/a(1)' -o x":                                                                        {0, 0.4},
		"gh workflow run deploy.yml --ref feat/x -f environment=production":                                                             {0.4, 0.8},
		"gh workflow run deploy-production.yml":                                                                                         {0.4, 0.8},
		"gh workflow run deploy.yml -f environment=staging":                                                                             {0, 0.4},
		"gh workflow list":                                       {0, 0.4},
		"gh run view 1 --log":                                    {0, 0.4},
		"git annex drop --force recordings/":                     {0.4, 0.8},
		"git annex dropunused --force all":                       {0.4, 0.8},
		"git annex forget --drop-dead --force":                   {0.4, 0.8},
		"git annex drop recordings/":                             {0, 0.4},
		"git annex sync --content":                               {0, 0.4},
		"snow sql -q 'DROP SCHEMA ANALYTICS_DEV.DEV_IVO'":        {0.4, 0.8},
		"snow sql -q 'DROP SCHEMA ANALYTICS.CORE'":               {0.8, 1},
		"psql -h db.example -c 'DROP DATABASE shop'":             {0.8, 1},
		"helm repo add chaos-mesh https://charts.chaos-mesh.org": {0, 0.4},
	} {
		if a := Assess("shell", []act.Leaf{leafOf("command", line)}); a.Score < w[0] || a.Score >= w[1] {
			t.Errorf("%s: %.2f, want %v", line, a.Score, w)
		}
	}
	for file, text := range map[string]string{
		"app/build.gradle.kts": "plugins { id(\"com.android.application\") }\napply(from = \"https://snippets.example.org/common.gradle\")\n",
		"app/build.gradle":     "apply from: 'https://snippets.example.org/common.gradle'\n",
	} {
		if a := Assess("write_file", []act.Leaf{leafOf("path", file), leafOf("content", text)}); a.Score < 0.4 {
			t.Errorf("%s passes: %.2f", file, a.Score)
		}
	}
	if a := Assess("write_file", []act.Leaf{leafOf("path", "app/build.gradle"), leafOf("content", "apply from: 'gradle/common.gradle'\nfrom 'src/docs'\n")}); a.Score >= 0.4 {
		t.Errorf("a script of the project's: %.2f", a.Score)
	}
	for line, file := range map[string]string{"pod install": "Podfile", "cd ios && pod update": "Podfile", "bundle exec fastlane tests": "Fastfile", "fastlane tests": "Fastfile"} {
		ran := false
		for _, name := range Assess("shell", []act.Leaf{leafOf("command", line)}).Ran {
			ran = ran || name == file
		}
		if !ran {
			t.Errorf("%s does not run %s", line, file)
		}
	}
}
