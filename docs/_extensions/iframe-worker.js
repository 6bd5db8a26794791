/* Search runs in a worker, which browsers refuse to pages opened from disk. There, a hidden frame takes its place. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = new Promise((resolve) => {
        const frame = document.createElement("iframe")
        frame.hidden = true
        frame.srcdoc = "<!doctype html>"
        frame.onload = () => {
          const inside = frame.contentWindow
          const load = (src) =>
            new Promise((loaded) => {
              const script = inside.document.createElement("script")
              script.onload = loaded
              script.src = src
              inside.document.body.append(script)
            })
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
          inside.importScripts = (...urls) => urls.reduce((before, src) => before.then(() => load(src)), Promise.resolve())
          load(url).then(() => resolve(inside))
        }
        document.body.append(frame)
      })
    }
    postMessage(data) {
      this.frame.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
