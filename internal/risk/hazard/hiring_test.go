package hazard

import "testing"

// TestHiring: a machine that costs by the hour what somebody earns is asked about, as any other move of money is;
// one to try something on, and to look at prices, is not.
func TestHiring(t *testing.T) {
	for _, c := range []string{
		"aws ec2 run-instances --instance-type p5.48xlarge --count 20 --image-id ami-1", "aws sagemaker create-training-job --resource-config InstanceType=ml.p5.48xlarge", "gcloud compute instances create m --machine-type a3-highgpu-8g --zone us-central1-a", "gcloud compute instances create m --accelerator=type=nvidia-h100-80gb,count=8",
		"gcloud compute tpus tpu-vm create t --zone x --accelerator-type v5p-64", "az vm create -n m -g rg --size Standard_ND96isr_H100_v5 --image Ubuntu2404", "doctl compute droplet create gpu --size gpu-h100x8-640gb --image gpu-h100x8-base --region tor1 --count 4", "hcloud server create --name m --type ccx63 --image ubuntu-24.04",
		"linode-cli linodes create --type g2-gpu-rtx4000a4-xl", "scw instance server create type=H100-2-80G image=ubuntu_noble", "oci compute instance launch --shape BM.GPU.H100.8", "runpodctl create pod --gpuType 'NVIDIA H100 80GB HBM3' --gpuCount 8 --imageName pytorch/pytorch", "vastai create instance 88123 --image pytorch/pytorch --disk 500",
		"sky launch -y --gpus H100:8 t.yaml", "hf jobs run --flavor h100x8 python:3.12 python x.py", "namecheap-cli domains create acme-login.com", "twilio phone-numbers:buy:mobile --country-code US", "gcloud domains registrations register acme-login.com",
	} {
		if a := assessed(c); a.Score < 0.4 || a.Score >= Denied {
			t.Errorf("%s: %.2f %+v", c, a.Score, a.Findings)
		}
	}
	for _, c := range []string{
		"aws ec2 run-instances --instance-type t3.micro --image-id ami-1", "aws ec2 describe-instance-types --instance-types p5.48xlarge", "gcloud compute instances create m --machine-type e2-small", "gcloud compute machine-types list --filter a3-highgpu-8g", "gcloud compute accelerator-types list",
		"az vm create -n m -g rg --size Standard_B1s --image Ubuntu2404", "az vm list-skus --size Standard_N -l westeurope", "doctl compute droplet create web --size s-1vcpu-1gb --image ubuntu-24-04-x64", "doctl compute size list", "hcloud server create --name m --type cx22 --image ubuntu-24.04", "hcloud server-type describe ccx63",
		"linode-cli linodes create --type g6-nanode-1 --image linode/ubuntu24.04", "runpodctl get cloud", "vastai search offers 'num_gpus=8'", "vastai show instances", "sky status", "sky launch --cpus 2 t.yaml", "hf jobs ps", "twilio phone-numbers:list", "namecheap-cli domains list", "modal run bench.py",
	} {
		if a := assessed(c); a.Score >= 0.4 {
			t.Errorf("%s: %.2f %+v", c, a.Score, a.Findings)
		}
	}
}
