try{let t=localStorage.getItem("conch-theme");(t==="light"||t==="dark")&&document.documentElement.classList.add(t)}catch{}
