import { useEffect, useRef, useState } from 'react'

type MessageFrameProps = {
  title: string
  /** The path that the API calls `frameUrl`. */
  url: string
  /** Loads remote images, which reveal to their server that the message is read. */
  images?: boolean
  phone?: boolean
  /** Asks the email for its dark mode. */
  dark?: boolean
  /** Takes the height of its container. */
  fill?: boolean
  /** A click on a link may open a tab, for a page with links of ours. */
  opensTabs?: boolean
}

/**
 * An email as a mail program shows it. The page has an origin of its own, without scripts: it reaches nothing of the dashboard. It stays
 * white unless dark is asked for, independent of the theme of the dashboard: the colour scheme of a frame is what its page sees.
 */
export function MessageFrame({
  title,
  url,
  images = false,
  phone = false,
  dark = false,
  fill = false,
  opensTabs = false,
}: MessageFrameProps) {
  const [frame, width] = useWidth()
  const isScaled = fill && !phone && width > 0 && width < DESKTOP_PX
  const scale = isScaled ? width / DESKTOP_PX : 1
  const message = (
    <iframe
      title={title}
      src={images ? url : `${url}?images=off`}
      sandbox={opensTabs ? 'allow-popups allow-popups-to-escape-sandbox' : ''}
      referrerPolicy="no-referrer"
      style={{
        colorScheme: dark ? 'dark' : 'light',
        ...(isScaled && { width: DESKTOP_PX, height: `${100 / scale}%`, transform: `scale(${scale})`, transformOrigin: '0 0' }),
      }}
      className={`${fill ? 'h-full' : 'h-[32rem] max-h-[75vh]'} ${fill && !phone ? '' : 'rounded-md border border-line'} ${dark ? 'bg-[#121212]' : 'bg-white'} ${phone ? 'mx-auto block w-[375px] max-w-full' : isScaled ? 'max-w-none' : 'w-full'}`}
    />
  )
  if (!fill || phone) return message
  return (
    <div ref={frame} className="h-full overflow-hidden">
      {message}
    </div>
  )
}

/** Width of a mail program on a desktop: what does not fit beside the code is made smaller, not cut. */
const DESKTOP_PX = 680

/** The width of the element in px, and 0 until it is known. */
function useWidth() {
  const element = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    if (!element.current) return
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)))
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return [element, width] as const
}
