// Asks a person's passkey: to be made, and to sign one answer or one confirmation. What is
// asked comes from the node, and what was signed is checked there.
"use strict";
(() => {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));
  const say = (form, problem) => {
    const at = form.querySelector("[data-problem]");
    at.textContent = problem;
    at.hidden = !problem;
  };

  // challenge has the node say what is to be signed for what a form would send.
  async function challenge(form, submitter) {
    const res = await fetch("/console/passkeys/challenge", { method: "POST", body: new URLSearchParams(new FormData(form, submitter)), credentials: "same-origin" });
    const said = await res.json().catch(() => ({ error: "the node did not answer" }));
    if (!res.ok) throw new Error(said.error);
    if (location.origin !== said.origin) throw new Error("Passkeys are used at " + said.origin + ": open this page there.");
    if (!window.PublicKeyCredential) throw new Error("This browser has no passkeys.");
    return said;
  }

  const listed = (keys) => (keys ?? []).map((id) => ({ type: "public-key", id: bytes(id) }));

  async function prove(said) {
    const made = await navigator.credentials.get({ publicKey: {
      challenge: bytes(said.challenge), rpId: said.host, allowCredentials: listed(said.keys), userVerification: "required", timeout: 100000,
    } });
    const r = made.response;
    return { nonce: said.nonce, id: text(made.rawId), client: text(r.clientDataJSON), authenticator: text(r.authenticatorData), signature: text(r.signature) };
  }

  async function make(said) {
    const made = await navigator.credentials.create({ publicKey: {
      challenge: bytes(said.challenge), rp: { id: said.host, name: "reeve" }, user: { id: bytes(said.handle), name: said.user, displayName: said.user },
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })),
      authenticatorSelection: { userVerification: "required", residentKey: "discouraged" },
      attestation: "none", excludeCredentials: listed(said.keys), timeout: 100000,
    } });
    const r = made.response;
    return { nonce: said.nonce, id: text(made.rawId), client: text(r.clientDataJSON), authenticator: text(r.getAuthenticatorData()), public: text(r.getPublicKey()) };
  }

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.addEventListener("submit", async (e) => {
      const button = e.submitter;
      if (!button || form.dataset.proved || button.hasAttribute("data-unproved")) return;
      e.preventDefault();
      say(form, "");
      try {
        const said = await challenge(form, button);
        form.elements.proof.value = JSON.stringify(await (form.dataset.passkey === "make" ? make : prove)(said));
        form.dataset.proved = "1";
        form.requestSubmit(button);
      } catch (problem) {
        say(form, problem.name === "NotAllowedError" ? "The passkey was not shown: it was put off, is not known here, or took too long." : problem.name === "InvalidStateError" ? "This authenticator has a passkey for you here already." : problem.message);
      }
    });
  }
})();
