package hazard

import "testing"

// TestAttacksOthers: only the owner of a host can allow that it is attacked, or loaded.
func TestAttacksOthers(t *testing.T) {
	for _, line := range []string{
		"sqlmap -u 'https://shop.acme.example/search?q=a' --batch --level=5 --risk=3 --dump-all --threads=8", "sqlmap -u 'https://shop.acme.example/search?q=a' --batch --os-shell", "python3 sqlmap.py --url=https://shop.acme.example/?id=1 --dump", "hydra -l admin -P rockyou.txt ssh://203.0.113.9", "hydra -l admin -P rockyou.txt 203.0.113.9 ssh", "medusa -h shop.acme.example -U users.txt -P pass.txt -M ssh",
		"nmap -sS -p- 203.0.113.0/24", "sudo nmap -A shop.acme.example", "nmap --script vuln shop.acme.example", "masscan 203.0.113.0/24 -p1-65535", "nikto -h https://shop.acme.example", "nuclei -u https://shop.acme.example -severity critical", "ffuf -u https://shop.acme.example/FUZZ -w big.txt -t 200", "gobuster dir -u https://shop.acme.example -w big.txt",
		"docker run --rm ghcr.io/zaproxy/zaproxy:stable zap-full-scan.py -t https://shop.acme.example", "hping3 -S --flood -p 443 api.acme.example", "slowloris api.acme.example", "wpscan --url https://blog.acme.example --enumerate u",
		"ulimit -n 65535; wrk -t8 -c5000 -d10m https://api.acme.example/v1/orders", "ab -n 1000000 -c 1000 https://api.acme.example/", "k6 run -e BASE=https://api.acme.example --vus 3000 --duration 10m k6.js", "hey -n 500000 -c 500 https://api.acme.example/", "echo 'GET https://api.acme.example/' | vegeta attack -rate=5000 -duration=60s", "locust -f l.py --headless -u 5000 -r 100 --host https://api.acme.example", "autocannon -c 1000 -d 60 https://api.acme.example",
	} {
		if a := assessed(line); !a.has("code.attack_others", 0.4) {
			t.Errorf("passes: %s: %+v", line, a.Findings)
		}
	}
	for _, line := range []string{
		"sqlmap -u 'http://localhost:8080/search?q=a' --batch --dump", "sqlmap -r request.txt --batch", "sqlmap --version", "hydra -l admin -P rockyou.txt ssh://192.168.56.10", "nmap -sS -p- 10.0.0.0/24", "nmap -sV localhost", "nmap shop.acme.example", "nmap -p 443 shop.acme.example", "nmap -A scanme.nmap.org", "nikto -h http://127.0.0.1:3000", "nuclei -u https://shop.staging.acme.example", "nuclei -update-templates",
		"ffuf -u http://localhost/FUZZ -w big.txt", "docker run --rm ghcr.io/zaproxy/zaproxy:stable zap-baseline.py -t https://shop.acme.example", "docker run --rm --network host ghcr.io/zaproxy/zaproxy:stable zap-api-scan.py -t http://localhost:8080/openapi.json -f openapi", "hping3 -c 3 -S -p 443 api.acme.example", "wrk -t8 -c5000 -d10m http://localhost:8080/", "wrk -t2 -c10 -d10s https://api.acme.example/", "ab -n 100 -c 10 https://api.acme.example/", "k6 run k6.js", "k6 run --vus 3000 -e BASE=https://api-test.acme.example k6.js",
		"hey -n 200 https://api.acme.example/", "autocannon -c 1000 -d 60 http://127.0.0.1:3000", "locust -f l.py --headless -u 5000 --host http://web.local", "wrk -c 1000 \"$URL\"",
	} {
		if a := assessed(line); a.has("code.attack_others", 0) {
			t.Errorf("asks: %s: %+v", line, a.Findings)
		}
	}
}
