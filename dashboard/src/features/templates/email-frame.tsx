type EmailFrameProps = { url: string; title: string /** Asks the email for its dark mode. */; dark?: boolean; className?: string }

/**
 * Shows the HTML of a tenant, from a page with a policy of its own: no script, no form, no access to this page. Emails stay white unless
 * dark is asked for, whatever the theme of the dashboard: the colour scheme of a frame is what its page sees.
 */
export function EmailFrame({ url, title, dark = false, className = '' }: EmailFrameProps) {
  return (
    <iframe
      sandbox=""
      src={url}
      title={title}
      style={{ colorScheme: dark ? 'dark' : 'light' }}
      className={`size-full ${dark ? 'bg-[#121212]' : 'bg-white'} ${className}`}
    />
  )
}
