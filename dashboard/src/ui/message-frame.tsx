type MessageFrameProps = {
  title: string
  /** The path that the API calls `frameUrl`. */
  url: string
  /** Remote images tell their server that somebody looks. */
  images?: boolean
  phone?: boolean
}

/** An email as a mail program shows it. The page has an origin of its own, without scripts: it reaches nothing of the dashboard. */
export function MessageFrame({ title, url, images = false, phone = false }: MessageFrameProps) {
  return (
    <iframe
      title={title}
      src={images ? url : `${url}?images=off`}
      sandbox=""
      referrerPolicy="no-referrer"
      className={`h-[32rem] max-h-[75vh] rounded-md border border-line bg-white ${phone ? 'mx-auto block w-[375px] max-w-full' : 'w-full'}`}
    />
  )
}
