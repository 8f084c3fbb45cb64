import { useEffect, useState } from 'react'

/** A skeleton that appears for less than this only flickers. */
const SLOW_MS = 150

/** True once the component has been mounted for 150 ms: the moment to show a skeleton. */
export function useIsSlow(): boolean {
  const [isSlow, setIsSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsSlow(true), SLOW_MS)
    return () => clearTimeout(timer)
  }, [])
  return isSlow
}
