/** Providers of personal mailboxes, as opposed to those of employers. Families with many suffixes are matched below. */
const PERSONAL = new Set(
  `gmail.com googlemail.com icloud.com me.com mac.com ymail.com rocketmail.com aim.com verizon.net proton.me protonmail.com protonmail.ch
  pm.me tutanota.com tutanota.de tuta.com tuta.io tutamail.com fastmail.com fastmail.fm hey.com zoho.com zohomail.com mail.com email.com
  usa.com consultant.com mail.ru bk.ru list.ru inbox.ru inbox.lv rambler.ru ya.ru ukr.net i.ua web.de freenet.de t-online.de online.de arcor.de
  posteo.de mailbox.org bluewin.ch hispeed.ch orange.fr wanadoo.fr free.fr laposte.net sfr.fr neuf.fr libero.it virgilio.it tiscali.it alice.it
  tin.it telefonica.net terra.com.br uol.com.br bol.com.br ig.com.br globo.com seznam.cz centrum.cz post.cz wp.pl o2.pl onet.pl interia.pl
  abv.bg azet.sk ziggo.nl kpnmail.nl xs4all.nl planet.nl home.nl telenet.be skynet.be btinternet.com virginmedia.com sky.com talktalk.net
  ntlworld.com blueyonder.co.uk comcast.net att.net sbcglobal.net bellsouth.net cox.net charter.net earthlink.net juno.com optonline.net
  rogers.com shaw.ca sympatico.ca bigpond.com optusnet.com.au xtra.co.nz qq.com foxmail.com 163.com 126.com yeah.net sina.com sina.cn sohu.com
  naver.com daum.net hanmail.net nate.com rediffmail.com docomo.ne.jp ezweb.ne.jp softbank.ne.jp nifty.com hushmail.com runbox.com lycos.com`.split(
    /\s+/,
  ),
)
const PERSONAL_FAMILY = /^(yahoo|hotmail|outlook|live|msn|gmx|aol|yandex|windowslive)\.[a-z]{2,3}(\.[a-z]{2})?$/

/** Forwarding services that hide the address of their user. Some give each user a subdomain. */
const FORWARDERS = new Set(
  `privaterelay.appleid.com mozmail.com duck.com simplelogin.com simplelogin.co simplelogin.fr simplelogin.io aleeas.com slmail.me slmails.com
  silomails.com dralias.com 8shield.net 8alias.com anonaddy.com anonaddy.me addy.io addymail.com mailer.me 4wrd.cc 33mail.com passmail.com
  passmail.net passinbox.com passfwd.com erine.email use.startmail.com cloak.id opayq.com spamgourmet.com forwardemail.net`.split(/\s+/),
)

export const isPersonal = (domain: string) => PERSONAL.has(domain) || PERSONAL_FAMILY.test(domain)
export const isForwarder = (domain: string) => FORWARDERS.has(domain)

/** Loaded with the first verified address: most installations never verify one. */
export const loadDisposable = async () => (await import('disposable-email-domains-js')).isDisposableEmailDomain

/** Suggests the well-known provider or suffix that a domain may be a misspelling of. */
export async function loadSpelling() {
  const { run, POPULAR_DOMAINS } = await import('@zootools/email-spell-checker')
  return (domain: string) => {
    const suggested = run({ email: `x@${domain}` })?.domain
    return suggested && suggested !== domain ? { domain: suggested, isProvider: POPULAR_DOMAINS.includes(suggested) } : undefined
  }
}
