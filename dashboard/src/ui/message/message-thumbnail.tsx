import { useEffect, useRef, useState } from 'react'

/** Width of the page in the frame, before it is made smaller. */
const PAGE_PX = 640

/** True from the first time that the element is on the screen. */
export function useSeen<Element extends HTMLElement>() {
  const element = useRef<Element>(null)
  const [seen, setSeen] = useState(false)
  useEffect(() => {
    if (!element.current) return
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setSeen(true), { rootMargin: '200px' })
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return [element, seen] as const
}

/** A picture of an email: its page, made small. It can be neither clicked nor focused. `url` is undefined until it is known. */
export function MessageThumbnail({ url, width, height }: { url: string | undefined; width: number; height: number }) {
  const scale = width / PAGE_PX
  return (
    <span aria-hidden="true" className="pointer-events-none relative block overflow-hidden bg-white" style={{ width, height }}>
      {url && (
        <iframe
          title="Picture of the email"
          src={url}
          sandbox=""
          tabIndex={-1}
          loading="lazy"
          referrerPolicy="no-referrer"
          className="absolute top-0 left-0 border-0"
          style={{ width: PAGE_PX, height: height / scale, transform: `scale(${scale})`, transformOrigin: '0 0', colorScheme: 'light' }}
        />
      )}
    </span>
  )
}
