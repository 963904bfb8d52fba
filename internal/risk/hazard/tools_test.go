package hazard

import "testing"

// TestAttackTools: programs made for attacks are known by their clients' names, too; a plan of
// many modules is but a plan.
func TestAttackTools(t *testing.T) {
	for _, c := range []string{"sliver-client", "sudo msfrpcd -P x", "havoc teamserver --profile x", "docker run x && poshc2"} {
		if a := assessed(c); !a.has("code.attack_tool", 0.8) {
			t.Errorf("%s: %+v", c, a.Findings)
		}
	}
	for c, want := range map[string]bool{
		"terragrunt run-all plan --terragrunt-non-interactive": false, "terragrunt run-all validate": false, "terragrunt run --all plan": false, "terragrunt run-all output": false,
		"terragrunt run-all apply --terragrunt-non-interactive": true, "terragrunt run-all destroy": true, "terragrunt destroy-all": true, "terragrunt run --all -- destroy -auto-approve": true,
	} {
		if a := assessed(c); (a.Score >= 0.3) != want {
			t.Errorf("%s: %v %+v", c, a.Score, a.Findings)
		}
	}
}
